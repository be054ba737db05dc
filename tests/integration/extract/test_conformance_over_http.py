"""The runtime cases of the public conformance data, each with its page served and requested, not handed over."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from comity.extract.run import ExtractOptions, Failure, Result
from tests.integration.extract.programs import TITLE, code_of, program_of, titles_of, value_of
from tests.integration.extract.web import Answer, Web
from tests.unit.extract.shared_data import FOLDER, needs_shared_data, shared_json, without_warning_messages

pytestmark = needs_shared_data

Case = dict[str, Any]
ORIGIN = re.compile(r"https://[^/\"]+")
OPTIONS = ExtractOptions(allow_private_hosts=True)
EXAMPLES = sorted(path.parent.name for path in FOLDER.glob("examples/*/example.json"))
RUNTIME = [
    one
    for one in dict(shared_json("conformance/manifest.json") or {}).get("cases", [])
    if {"output", "html"} <= set(one["expectations"])
]
CHARSETS: list[Case] = dict(shared_json("fixtures/html-compat/charset-manifest.json") or {}).get("cases", [])
SNAPSHOTS: list[Case] = shared_json("fixtures/snapshot/cases.json")


def named(cases: list[Case], key: str) -> list[Any]:
    return [pytest.param(case, id=case[key]) for case in cases] or [pytest.param({}, id="no data")]


def run(web: Web, source: str, body: bytes, inputs: dict[str, Any]) -> Result | Failure:
    """The program with this web in the place of its own."""
    assert ORIGIN.search(source)
    program = program_of(ORIGIN.sub(web.url, source))
    address = program.url(inputs)
    assert isinstance(address, str), address
    web.pages[address.removeprefix(web.url)] = Answer(body)
    return program.extract(inputs, OPTIONS)


def of_file(web: Web, source: Path, page: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    found = run(web, source.read_text(encoding="utf-8"), page.read_bytes(), inputs)
    assert isinstance(found, Result), found
    assert len(web.asked) == 1
    return without_warning_messages(found.plain())


@pytest.mark.parametrize("name", EXAMPLES or ["no data"])
def test_example(web: Web, name: str) -> None:
    folder = FOLDER / "examples" / name
    inputs, expected = shared_json(f"examples/{name}/inputs.json"), shared_json(f"examples/{name}/expected-output.json")
    found = of_file(web, folder / "extractor.kdl", folder / "page.html", inputs)
    assert found == without_warning_messages(expected)


@pytest.mark.parametrize("case", named(RUNTIME, "id"))
def test_runtime_case(web: Web, case: Case) -> None:
    expectations = case["expectations"]
    source = next(one["path"] for one in case["artifacts"] if one["role"] == "source")
    found = of_file(web, FOLDER / source, FOLDER / expectations["html"], shared_json(expectations["inputs"]))
    assert found == without_warning_messages(shared_json(expectations["output"]))


@pytest.mark.parametrize("case", named(SNAPSHOTS, "name"))
def test_snapshot_case(web: Web, case: Case) -> None:
    """Over HTTP where the program says so; what needs a browser is refused, and nothing is sent."""
    found = run(web, case["source"], case["html"].encode(), {})
    if 'mode="browser"' not in case["source"]:
        assert isinstance(found, Result), found
        assert found.plain() == case["expected"]
        return
    lacks_more = "error" in case
    assert code_of(found) == ("E_BROWSER_CAPABILITY_MISSING" if lacks_more else "E_BROWSER_RUNTIME_MISSING")
    assert web.asked == []


@pytest.mark.parametrize("case", named(CHARSETS, "id"))
def test_charset_case(web: Web, case: Case) -> None:
    web.pages["/"] = Answer(base64.b64decode(case["bytesBase64"]), case["contentType"])
    members = TITLE.replace('select "h1"', 'select "html"')
    found = titles_of(web.url + "/", members=members).extract(None, OPTIONS)
    if "expectedError" in case:
        assert code_of(found) == case["expectedError"]
    else:
        assert value_of(found) == {"title": case["expectedText"]}
