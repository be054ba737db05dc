"""Programs as JSON: one text for one program, and nothing let in that does not hold."""

import json
from typing import Any

import pytest

from comity import extract
from comity.extract import canonical_json, plain, read_program
from comity.extract.compiler.builtins import BUILTINS
from comity.extract.ir.canonical import plain_decimal
from comity.extract.ir.program import Extractor
from comity.extract.ir.references import BUILTIN_NAMES
from tests.unit.extract.programs import BROWSER, SOURCE, extractor, field

TITLE = 'select "h1"; value "text"; apply "own"; on-error "default"'
BODY = f"""
input "page" type="int" required=#false default=1
transform "own" input="string" output="string" {{ pipeline {{ apply "trim" }} }}
transform "host" input="string" output="object" {{ external symbol="decode" }}
{field(TITLE, 'type="string" default="none"')}
collection "rows" min-items=1 {{
  select "li"
  field "n" type="u8?" default=#null {{ value "text"; apply "parse-int" as="u8" }}
}}
"""


def program() -> Extractor:
    compilation = extract.compile(extractor(BODY, source=SOURCE.replace("org/", "org/{page}")))
    assert compilation.program is not None, compilation
    return compilation.program


def test_program_reads_back_as_it_was_written() -> None:
    text = canonical_json(plain(program()))
    assert read_program(text).program == program()
    assert canonical_json(json.loads(text)) == text


def test_deepest_program_reads_back() -> None:
    body = 'field "n" type="u8[][]?" { evaluate-js "() => []" scope="current" returns="u8[][]" }'
    for _ in range(30):
        body = f'collection "c" {{ select "li"; {body} }}'
    deepest = extract.compile(extractor(body, source=BROWSER)).program
    assert deepest is not None
    assert read_program(canonical_json(plain(deepest))).program == deepest


def test_null_default_is_not_an_absent_one() -> None:
    data = plain(program())
    title, rows = data["output"]["members"]
    assert title["default"] == "none"
    assert rows["row"]["members"][0]["default"] is None
    assert "default" not in data["output"]["members"][1]


def test_capabilities_are_those_of_the_program() -> None:
    assert program().capabilities == ("http.fetch", "transform.external:decode")
    browser = extract.compile(extractor(field(), source=BROWSER)).program
    assert browser is not None
    assert browser.capabilities == ("browser.navigate", "browser.query", "browser.read-text")


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (-0.0, "0"), (1e21, "1" + "0" * 21), (1.5e-7, "0.00000015"), (0.1, "0.1"), (-2.50, "-2.5")],
)
def test_number_is_a_plain_decimal(number: float, text: str) -> None:
    assert plain_decimal(number) == text


def test_canonical_json_sorts_by_code_point_and_keeps_integers() -> None:
    data = {"\U0001f40e": 1, "\uffff": 2**63 - 1, "a": ["é\n\u2028", None, True, 1.0]}
    assert canonical_json(data) == '{"a":["é\\n\u2028",null,true,1],"\uffff":9223372036854775807,"\U0001f40e":1}'
    with pytest.raises(ValueError, match="finite"):
        canonical_json(float("nan"))


PLACE = {"file": "a.kdl", "start": {"offset": 0, "line": 1, "column": 1}, "end": {"offset": 0, "line": 1, "column": 1}}
OPTIONAL = {"name": "page", "type": "int", "required": False, "span": PLACE}


def changed(path: str, value: Any) -> str:
    data = json.loads(canonical_json(plain(program())))
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = data
    for part in parents:
        place = place[part]
    place[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("kind", "module", "kind"),
        ("irVersion", "2026-07-16", "irVersion"),
        ("version", "2026-02-30", "version"),
        ("name", "Test", "name"),
        ("extra", 1, "extra"),
        ("files", [], "files"),
        ("files.0.sha256", "x", "sha256"),
        ("files.0.moduleName", "m", "moduleVersion"),
        ("span.start.offset", -1, "offset"),
        ("span.start.line", True, "line"),
        ("inputs.0.required", True, "inputs.page"),
        ("inputs.0.type", "u8", "inputs.0.type"),
        ("inputs.0", OPTIONAL, "the URL needs it"),
        ("source.fetch.urlTemplate.segments", [{"kind": "input", "name": "no"}], "there is no input no"),
        ("output.members.0.selection", None, "null"),
        ("output.members.0.valueSource.rawType.name", "int", "string type"),
        ("output.members.0.transforms.0.target.symbolId", "no", "there is no transform no"),
        ("output.members.0.transforms.0.target", {"kind": "builtin", "name": "no"}, "built-in transform no"),
        ("output.members.0.onError", "null", "does not admit null"),
        ("output.members.1.name", "title", "twice"),
        ("output.members.1.maxItems", 0, "maxItems"),
        ("output.members.1.row.members", [], "a row needs a member"),
        ("capabilities", ["http.fetch"], "capabilities"),
        ("transforms.0.calls", [], "calls"),
    ],
)
def test_json_that_does_not_hold_is_refused_with_the_place(path: str, value: Any, said: str) -> None:
    read = read_program(changed(path, value))
    assert read.program is None
    assert any(said in fault for fault in read.faults), read.faults


@pytest.mark.parametrize("data", [b"", b"\xff", "{", "[]", "null", "[" * 100_000, '{"kind": NaN}', '"\\ud800"'])
def test_what_is_no_json_of_a_program_is_refused(data: str | bytes) -> None:
    read = read_program(data)
    assert read.program is None
    assert read.faults


def test_built_in_names_are_those_of_the_compiler() -> None:
    assert frozenset(BUILTINS) == BUILTIN_NAMES
