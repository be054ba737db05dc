"""The generated JSON Schema: what a program gives is valid by it, and what it never gives is not."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from comity import extract
from comity.extract import Program, Result
from comity.extract.compiler.type_expressions import read_type
from comity.extract.ir.json_schema import type_schema
from comity.extract.run.values import MismatchError, checker
from tests.unit.extract.programs import VERSIONS
from tests.unit.extract.shared_data import FOLDER, needs_shared_data, shared_json

SOURCE = f"""extractor "shop" {VERSIONS} {{
  source "html" {{ fetch mode="http" url="https://site.example/" }}
  field "name" type="string" required=#true {{ select "h1"; value "text" }}
  field "open" type="bool" {{ select ".open"; value "text"; apply "parse-bool" true="yes" false="no" }}
  field "rating" type="f32" default=2.5 {{
    select ".rating"; value "text"; apply "parse-float" as="f32"; on-error "default"
  }}
  field "tags" type="string[]" required=#true {{ select ".tags"; value "text"; apply "split" separator="," }}
  collection "shelves" required=#true max-items=3 {{
    select "section"
    field "letter" type="string?" required=#true {{ select "h2"; value "text"; apply "empty-to-null" }}
    collection "books" {{
      select "li"
      field "pages" type="u16" required=#true {{ value "text"; apply "parse-int" as="u16" }}
    }}
  }}
}}"""
PAGE = """<h1>Shop</h1><i class=rating>x</i><i class=tags>a,b</i>
<section><h2></h2><li>1<li>65535</section><section><h2>B</h2></section>"""


def program(source: str = SOURCE) -> Program:
    compilation = extract.compile(source)
    assert compilation.program is not None, compilation
    prepared = Program.prepare(compilation.program)
    assert isinstance(prepared, Program), prepared
    return prepared


def result() -> dict[str, Any]:
    found = program().extract_snapshot(PAGE)
    assert isinstance(found, Result), found
    return found.plain()


def faults(data: Any) -> list[str]:
    validator = Draft202012Validator(program().json_schema())
    return sorted(error.json_path for error in validator.iter_errors(data))


def test_schema_is_one_and_a_result_is_valid_by_it() -> None:
    Draft202012Validator.check_schema(program().json_schema())
    found = result()
    assert found["partial"]
    assert found["warnings"]
    assert faults(found) == []


WRONG: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "null where a value is required": (("name",), None),
    "text in place of a bool": (("open",), "yes"),
    "an integer that is too large": (("shelves", 0, "books", 1, "pages"), 65536),
    "an integer below": (("shelves", 0, "books", 1, "pages"), -1),
    "no number": (("rating",), "2.5"),
    "no array": (("tags",), "a"),
    "an array of something else": (("tags",), [1]),
    "too few rows": (("shelves",), []),
}


@pytest.mark.parametrize(("path", "value"), WRONG.values(), ids=WRONG)
def test_what_a_program_never_gives_is_not_valid(path: tuple[str | int, ...], value: Any) -> None:
    damaged: Any = copy.deepcopy(result())
    place = damaged["value"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert faults(damaged) != []


def test_members_are_all_there_and_no_others() -> None:
    whole = result()
    for change in ({"more": 1}, {}):
        damaged = copy.deepcopy(whole)
        damaged["value"] |= change
        if not change:
            del damaged["value"]["open"]
        assert faults(damaged) == ["$.value"]
    rows = copy.deepcopy(whole)
    rows["value"]["shelves"] *= 2
    assert faults(rows) == ["$.value.shelves"]


TYPES = [
    "string", "bool", "int", "u8", "i64", "float", "f32", "object", "unknown", "string[]", "u8?", "f32?[]", "int[]?",
    "unknown?", "object?[]",
]  # fmt: skip
EXAMPLES = sorted(one.parent.name for one in FOLDER.glob("examples/*/expected-output.json"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(TYPES), JSON)
def test_every_value_of_a_type_is_valid_by_its_schema(written: str, value: Any) -> None:
    of = read_type(written)
    assert not isinstance(of, str), of
    with suppress(MismatchError):
        assert Draft202012Validator(type_schema(of)).is_valid(checker(of)(value))


@needs_shared_data
@pytest.mark.parametrize("name", EXAMPLES or ["no data"])
def test_expected_output_of_an_example_is_valid(name: str) -> None:
    source = (FOLDER / "examples" / name / "extractor.kdl").read_text(encoding="utf-8")
    validator = Draft202012Validator(program(source).json_schema())
    assert list(validator.iter_errors(shared_json(f"examples/{name}/expected-output.json"))) == []
