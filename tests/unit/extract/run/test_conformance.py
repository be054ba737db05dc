"""The runtime against the public conformance data, case by case."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from comity import extract
from comity.extract.run import Failure, Program, Result, SnapshotOptions
from comity.extract.run.page import Page
from comity.extract.run.selectors import Selector
from comity.extract.run.transforms import BUILTINS
from comity.polite.charset import decode_html
from comity.polite.errors import CharsetError
from tests.unit.extract.run.test_members import PAGE
from tests.unit.extract.shared_data import FOLDER, needs_shared_data, shared_json, without_warning_messages

pytestmark = needs_shared_data

Case = dict[str, Any]
RUNTIME = [
    one
    for one in dict(shared_json("conformance/manifest.json") or {}).get("cases", [])
    if {"output", "html"} <= set(one["expectations"])
]
EXAMPLES = sorted(path.parent.name for path in FOLDER.glob("examples/*/example.json"))
CONTRACT: dict[str, Case] = dict(shared_json("docs/spec/builtins-v0.1.contract.json") or {})


def named(cases: list[Case], key: str) -> list[Any]:
    return [pytest.param(case, id=case[key]) for case in cases] or [pytest.param({}, id="no data")]


def program(source: Path | str) -> Program:
    compilation = extract.compile(source)
    assert compilation.program is not None, compilation
    prepared = Program.prepare(compilation.program)
    assert isinstance(prepared, Program), prepared
    return prepared


@pytest.mark.parametrize("case", named(shared_json("fixtures/snapshot/cases.json"), "name"))
def test_snapshot_case(case: Case) -> None:
    found = program(case["source"]).extract_snapshot(case["html"])
    if "error" in case:
        assert isinstance(found, Failure)
        assert {"code": found.code, "path": found.path} == case["error"]
    else:
        assert isinstance(found, Result)
        assert found.plain() == case["expected"]
        assert json.dumps(found.value) == json.dumps(case["expected"]["value"])  # members in the same order too


@pytest.mark.parametrize("name", EXAMPLES or ["no data"])
def test_example(name: str) -> None:
    folder = FOLDER / "examples" / name
    inputs, expected = shared_json(f"examples/{name}/inputs.json"), shared_json(f"examples/{name}/expected-output.json")
    found = program(folder / "extractor.kdl").extract_snapshot((folder / "page.html").read_bytes(), inputs)
    assert isinstance(found, Result), found
    assert without_warning_messages(found.plain()) == without_warning_messages(expected)


@pytest.mark.parametrize("case", named(RUNTIME, "id"))
def test_runtime_case(case: Case) -> None:
    expectations = case["expectations"]
    source = next(one["path"] for one in case["artifacts"] if one["role"] == "source")
    page = (FOLDER / expectations["html"]).read_bytes()
    found = program(FOLDER / source).extract_snapshot(page, shared_json(expectations["inputs"]))
    assert isinstance(found, Result), found
    assert without_warning_messages(found.plain()) == without_warning_messages(shared_json(expectations["output"]))


@pytest.mark.parametrize(
    "case", named(dict(shared_json("fixtures/html-compat/manifest.json") or {}).get("cases", []), "id")
)
def test_html_compatibility_case(case: Case) -> None:
    page = Page(decode_html((FOLDER / case["input"]).read_bytes(), f"text/html; charset={case['decodedEncoding']}"))
    for observation in case["observations"]:
        elements = page.select(page.root, Selector.of(observation["selector"]))
        if "text" in observation:
            assert [page.text(one) for one in elements] == observation["text"], observation["selector"]
        if "innerHTML" in observation:
            assert [page.html(one) for one in elements] == observation["innerHTML"], observation["selector"]
        if "attributes" in observation:
            wanted = observation["attributes"]
            held = [{name: one.attr(name) for name in asked} for one, asked in zip(elements, wanted, strict=True)]
            assert held == wanted, observation["selector"]


@pytest.mark.parametrize(
    "case", named(dict(shared_json("fixtures/html-compat/charset-manifest.json") or {}).get("cases", []), "id")
)
def test_charset_case(case: Case) -> None:
    body = base64.b64decode(case["bytesBase64"])
    if "expectedError" in case:
        with pytest.raises(CharsetError) as caught:
            decode_html(body, case["contentType"])
        assert caught.value.code == case["expectedError"]
    else:
        text = decode_html(body, case["contentType"])
        page = Page(text)
        assert (text, page.root.text) == (case["expectedHTML"], case["expectedText"])


def test_cancellation_case() -> None:
    class Cancelled:
        def is_set(self) -> bool:
            return True

    source = shared_json("fixtures/snapshot/cases.json")[0]["source"]
    found = program(source).extract_snapshot(PAGE, None, SnapshotOptions(cancellation=Cancelled()))
    assert isinstance(found, Failure)
    assert found.code == shared_json("testdata/runtime-contract/cancellation.json")["code"]


def test_every_builtin_of_the_contract_runs() -> None:
    assert set(BUILTINS) | {"assert-enum"} == set(CONTRACT)


NEEDED: dict[str, Any] = {"as": "u8", "base": "https://site.example/", "pattern": "a", "start": 0, "index": 0}
OPTIONAL: dict[str, Any] = {"flags": "i", "count": 1, "limit": 1, "group": 0, "radix": 10, "end": 1}


@pytest.mark.parametrize("name", sorted(set(CONTRACT) - {"assert-enum"}) or ["no data"])
def test_builtin_takes_what_its_contract_says(name: str) -> None:
    """With its required properties alone, with all of them, and not without one of those that it requires."""
    known = {**NEEDED, **OPTIONAL, "case-sensitive": True}
    every = {one: known.get(one, "x") for one in CONTRACT[name]["properties"]}
    required = CONTRACT[name]["required"]
    BUILTINS[name](every)
    BUILTINS[name]({one: every[one] for one in required})
    for missing in required:
        with pytest.raises(KeyError):
            BUILTINS[name]({one: value for one, value in every.items() if one != missing})
