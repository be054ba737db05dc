"""A real site, of a Debian documentation package: `make suites` fetches it. What its pages say is counted by hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.extracting import in_process_of_its_own
from tests.integration.extract.web import Answer, Web, serving
from tests.unit.extract.suites.packages import FOLDER, REPOSITORY

PROGRAM = REPOSITORY / "docs" / "extractors" / "sphinx-contents.kdl"
PLACES = [
    *sorted(Path("/usr/share/doc").glob("python3.*/html/tutorial/index.html")),
    FOLDER / "python-doc/tutorial/index.html",
]
PAGE = next((place for place in PLACES if place.is_file()), None)


@pytest.mark.skipif(PAGE is None, reason="no python3-doc package is installed or in .suites: `make suites` fetches one")
def test_contents_of_the_documentation_come_as_json(tmp_path: Path) -> None:
    assert PAGE is not None
    html = PAGE.read_bytes()
    with serving() as web:
        found = contents(web, html, tmp_path)
        assert web.paths == ["/3/tutorial/index.html"]
    value = found["value"]
    assert (found["partial"], value["title"]) == (False, "The Python Tutorial")
    chapters = value["chapters"]
    sections = [section for chapter in chapters for section in chapter["sections"]]
    subsections = [one for section in sections for one in section["subsections"]]
    text = html.decode()
    assert [len(chapters), len(sections), len(subsections)] == [text.count(f'class="toctree-l{n}"') for n in (1, 2, 3)]
    links = re.findall(r'<li class="toctree-l[123]"><a class="reference internal" href="([^"]+)">([^<&]+)</a>', text)
    flat = {one["link"]: one["title"] for one in [*chapters, *sections, *subsections]}
    plain = {link: " ".join(title.split()) for link, title in links}
    assert {link: flat[link] for link in plain} == plain
    assert len(plain) > 50


def contents(web: Web, html: bytes, folder: Path) -> dict[str, Any]:
    web.pages["/3/tutorial/index.html"] = Answer(html, "text/html")
    url = f"{web.url}/3/tutorial/index.html"
    done = in_process_of_its_own(folder, str(PROGRAM), "--url", url, "--allow-private-hosts")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
