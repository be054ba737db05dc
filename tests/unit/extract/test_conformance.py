"""The language against the public conformance data, case by case."""

from typing import Any

import pytest

from comity import extract
from comity.extract import Diagnostic, canonical_json, plain, read_program
from comity.extract.compiler.builtins import BUILTINS
from comity.extract.kdl.parser import parse
from comity.extract.kdl.tree import Locator
from tests.unit.extract.shared_data import FOLDER, needs_shared_data, shared_json, without_messages

pytestmark = needs_shared_data

Case = dict[str, Any]
MANIFEST: list[Case] = dict(shared_json("conformance/manifest.json") or {}).get("cases", [])
EXAMPLES = sorted(path.parent.name for path in FOLDER.glob("examples/*/extractor.kdl"))


def named(cases: list[Case], key: str) -> list[Any]:
    """Every case under its name; one that skips where there are none."""
    return [pytest.param(case, id=case[key]) for case in cases] or [pytest.param({}, id="no data")]


def with_outcome(outcome: str) -> list[Case]:
    return [case for case in MANIFEST if case["expectations"]["outcome"] == outcome]


def source_of(case: Case) -> str:
    return next(str(one["path"]) for one in case["artifacts"] if one["role"] == "source")


@pytest.mark.parametrize("case", named(with_outcome("valid"), "id"))
def test_valid_program_compiles_to_the_expected_ir(case: Case) -> None:
    compilation = extract.compile(FOLDER / source_of(case))
    assert compilation.program is not None, compilation
    assert [one for one in compilation.diagnostics if one.severity == "error"] == []
    if expected := case["expectations"].get("ir"):
        assert plain(compilation.program) == shared_json(expected)


@pytest.mark.parametrize("case", named(with_outcome("invalid"), "id"))
def test_invalid_program_is_told_of_as_expected(case: Case) -> None:
    compilation = extract.compile(FOLDER / source_of(case))
    wanted = case["expectations"]["diagnostics"]
    expected = shared_json(wanted["artifact"])[wanted["key"]]
    assert compilation.program is None
    assert without_messages(compilation.diagnostics) == without_messages(expected)


@pytest.mark.parametrize("case", named(shared_json("fixtures/parser/cases.json"), "name"))
def test_parser_case(case: Case) -> None:
    text = case["source"]
    locator = Locator(f"{case['name']}.kdl", text)
    found = tuple(
        Diagnostic(one.code, "error", one.message, locator.span(one.start, one.end)) for one in parse(text).mistakes
    )
    assert without_messages(found) == without_messages(case["diagnostics"])


def test_parser_case_of_bytes_that_are_not_utf8() -> None:
    case = shared_json("fixtures/parser/invalid-utf8.json")
    compilation = extract.compile(bytes(case["bytes"]), file=case["path"])
    assert without_messages(compilation.diagnostics) == without_messages(case["diagnostics"])


@pytest.mark.parametrize("source", shared_json("fixtures/parser/fuzz-seeds.json") or [""])
def test_parser_seed_parses(source: str) -> None:
    document = parse(source)
    expected = ["E_TYPE_ANNOTATION_UNSUPPORTED"] if source.startswith("(") else []
    assert [one.code for one in document.mistakes] == expected
    assert document.nodes


@pytest.mark.parametrize("case", named(shared_json("fixtures/imports/cases.json"), "name"))
def test_import_case(case: Case) -> None:
    folder, _, name = case["path"].rpartition("/")

    def load(path: str) -> bytes:
        file = f"{folder}/{path}"
        if file not in case["files"]:
            raise FileNotFoundError(path)
        return str(case["files"][file]).encode()

    compilation = extract.compile(case["source"], load, file=name)
    assert without_messages(compilation.diagnostics) == without_messages(case["diagnostics"])
    assert (compilation.failure is not None) is ("operationalError" in case)
    assert (compilation.program is not None) is (not case["diagnostics"] and "operationalError" not in case)


@pytest.mark.parametrize("name", EXAMPLES or ["no data"])
def test_example_compiles_to_the_expected_ir_and_reads_back(name: str) -> None:
    program = extract.compile(FOLDER / "examples" / name / "extractor.kdl").program
    assert program is not None
    assert plain(program) == shared_json(f"examples/{name}/expected-ir.json")
    assert read_program(canonical_json(plain(program))).program == program


@pytest.mark.parametrize("case", named(shared_json("fixtures/snapshot/cases.json"), "name"))
def test_snapshot_program_compiles(case: Case) -> None:
    assert extract.compile(case["source"]).program is not None


def test_built_in_contract() -> None:
    contract = shared_json("docs/spec/builtins-v0.1.contract.json")
    kinds = {"non-negative-int": "count"}
    ours = {
        name: ({key: str(kind) for key, kind in one.properties.items()}, sorted(one.required), one.values)
        for name, one in BUILTINS.items()
    }
    theirs = {
        name: (
            {key: kinds.get(kind, kind) for key, kind in one["properties"].items()},
            sorted(one["required"]),
            one["maxPositional"] == -1,
        )
        for name, one in contract.items()
    }
    assert ours == theirs
