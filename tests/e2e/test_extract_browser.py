"""`comity extract run` with the browsers of a running stack: pages as their scripts made them, politely."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Stack
from tests.integration.extract.web import Answer, page, serving

pytestmark = [pytest.mark.stack, pytest.mark.browser]

PROGRAM = """extractor "written" version="2026-07-15" language-version="2026-07-15" {
  source "html" { fetch mode="browser" url="https://example.invalid/" }
  field "title" type="string" required=#true { select "h1"; value "text" }
}
"""
WRITTEN = "<h1></h1><script>document.querySelector('h1').textContent = 'Written ' + {number}</script>"


def test_pages_of_a_browser_come_through_the_stacks_capture_servers(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "written.kdl").write_text(PROGRAM, encoding="utf-8")
    with serving() as web:
        web.pages |= {f"/{number}": page(WRITTEN.format(number=number)) for number in (1, 2)}
        web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /3\n", "text/plain")
        urls = [f"{web.url}/{number}" for number in (1, 2, 3)]
        (tmp_path / "urls.txt").write_text("\n".join(urls), encoding="utf-8")
        done = stack.comity(
            "extract", "run", str(tmp_path / "written.kdl"), "--urls", str(tmp_path / "urls.txt"), "--jsonl",
            "--allow-private-hosts", "--per-host-delay-ms", "200",
        )  # fmt: skip
        asked = [one for one in web.asked if one.path != "/favicon.ico"]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one.get("value", one.get("error", {}).get("code")) for one in lines] == [
        {"title": "Written 1"},
        {"title": "Written 2"},
        "E_POLITENESS",
    ], done.stderr
    assert done.returncode == 1
    assert [one.path for one in asked] == ["/robots.txt", "/1", "/2"]
    assert asked[2].at - asked[1].at >= 0.2
