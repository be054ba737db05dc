"""What proves which rule of the language: cases of the public conformance data, and tests of our own.

`python -m tests.unit.extract.conformance_table` writes the page of the docs; a test keeps table, page, data and tests
exact.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.extract.shared_data import FOLDER, REPOSITORY, shared_json

PAGE = REPOSITORY / "docs" / "extract-conformance.md"
TESTS = REPOSITORY / "tests"


@dataclass(frozen=True, slots=True)
class Rule:
    """`cases` are `family/name`; `ours` are `file::test`, below tests/."""

    says: str
    cases: str = ""
    ours: str = ""


RULES: dict[str, tuple[Rule, ...]] = {
    "Text": (
        Rule(
            "The subset of KDL: names, strings, raw strings, numbers in four bases, constants, comments, slashdash",
            "parser/complete-subset seeds/all",
            "unit/extract/test_kdl.py::test_value_is_read unit/extract/suites/test_kdl_suite.py::"
            "test_documents_that_are_read_otherwise_are_exactly_those_that_are_told",
        ),
        Rule(
            "What is outside is E_KDL_SYNTAX, twice for one bad token, and parsing goes on behind it",
            "parser/invalid-base parser/unexpected-character parser/unexpected-closing-brace "
            "parser/unterminated-comment",
            "unit/extract/test_kdl.py::test_parsing_goes_on_behind_every_mistake",
        ),
        Rule(
            "Integers have 64 bits, other numbers are finite",
            "parser/integer-overflow parser/float-overflow",
            "unit/extract/test_kdl.py::test_value_outside_of_the_subset_is_told_of",
        ),
        Rule(
            "No type annotations",
            "parser/type-annotation",
            "unit/extract/test_kdl.py::test_type_annotation_is_told_of_once_and_passed_over",
        ),
        Rule("A file is UTF-8", "bytes/invalid-utf8", "unit/extract/test_any_source.py::test_any_bytes"),
        Rule("A property is given once", "program/invalid.duplicate-property"),
    ),
    "Documents": (
        Rule(
            "A program compiles to its IR, with spans, types and capabilities",
            "program/valid.basic-http program/valid.race-detail example/basic-http example/malformed-html "
            "example/partial-result",
            "unit/extract/test_ir.py::test_program_reads_back_as_it_was_written",
        ),
        Rule(
            "A browser's program compiles too: workflows, JavaScript values, sessions",
            "program/valid.browser-js program/valid.rod-browser-e2e",
            "unit/extract/test_grammar.py::test_javascript_is_always_warned_of",
        ),
        Rule("Whole programs, as people write them", "program/valid.authoring-tracer"),
        Rule(
            "Both versions are there and are real dates; the language's is one that is known",
            "program/invalid.integer-version program/invalid.missing-document-version "
            "program/invalid.malformed-document-version program/invalid.missing-language-version "
            "program/invalid.unknown-language-version",
        ),
        Rule("JavaScript needs a browser", "program/invalid.http-js"),
        Rule("Patterns are RE2's", "program/invalid.regex-lookahead"),
        Rule("Times are 1 to 9223372036854 ms", "program/invalid.timeout-overflow"),
        Rule(
            "Every other mistake has its code and its place, and a right program has none",
            ours="unit/extract/test_grammar.py::test_wrong_program_is_refused_with_its_code "
            "unit/extract/test_grammar.py::test_right_program_has_no_errors "
            "unit/extract/test_grammar.py::test_three_mistakes_are_told_of_at_their_places",
        ),
    ),
    "Imports": (
        Rule(
            "Paths are relative, one file may have several names",
            "imports/valid-relative imports/duplicate-target-distinct-aliases",
            "unit/extract/test_imports.py::test_imports_are_resolved_from_the_importing_file",
        ),
        Rule("No URLs", "imports/remote"),
        Rule("Only modules, and each under a name", "imports/wrong-kind imports/missing-alias"),
        Rule("Before the extractor", "imports/import-after-root"),
        Rule(
            "No cycles",
            "program/invalid.import-cycle",
            "unit/extract/test_imports.py::test_cycle_is_told_of_in_the_file_that_closes_it",
        ),
        Rule("A file that cannot be read is a failure, not a mistake", "imports/missing-file"),
    ),
    "Transforms": (
        Rule(
            "The 26 built-ins with their properties",
            "contract/built-ins",
            "unit/extract/run/test_transforms.py::test_builtin_gives "
            "unit/extract/run/test_transforms.py::test_builtin_refuses",
        ),
        Rule(
            "Functions of the host come from the registry that a caller passes, and are checked",
            ours="unit/extract/run/test_transforms.py::test_host_functions_come_from_the_registry_and_nowhere_else "
            "unit/extract/run/test_transforms.py::test_what_a_host_function_returns_is_checked",
        ),
    ),
    "Pages": (
        Rule(
            "Charset: mark, header, meta element, else UTF-8; bad bytes are an error",
            "charset/euc-jp-valid charset/euc-jp-malformed",
            "integration/extract/test_http_mode.py::test_the_header_the_mark_and_the_page_say_its_charset",
        ),
        Rule("Raw text and entities", "html/local.raw-text-and-entities html/wpt.ambiguous-ampersand"),
        Rule(
            "Broken pages have the standard's tree",
            "html/local.tree-construction html/local.rcdata-and-truncated-input html/wpt.foreign-content-object-svg",
            "unit/extract/suites/test_html_trees.py::test_trees_are_those_of_the_suite_but_for_those_that_are_told",
        ),
        Rule(
            "The portable selectors",
            "html/local.portable-selectors",
            "unit/extract/run/test_selectors.py::test_profile_takes "
            "unit/extract/run/test_selectors.py::test_other_css_is_unsupported "
            "unit/extract/run/test_selectors.py::test_what_is_not_css_is_invalid",
        ),
    ),
    "Runs": (
        Rule(
            "Values, rows, warnings and `partial`, over a saved page and over HTTP",
            "run/valid.basic-http run-example/basic-http run-example/malformed-html run-example/partial-result "
            "snapshot/http-portable-output",
            "integration/extract/test_conformance_over_http.py::test_runtime_case "
            "integration/extract/test_conformance_over_http.py::test_example "
            "integration/extract/test_conformance_over_http.py::test_snapshot_case",
        ),
        Rule(
            "A saved page serves a browser's program without workflow and JavaScript, and no other",
            "snapshot/browser-portable-output snapshot/browser-workflow snapshot/browser-javascript-value",
            "integration/extract/test_browser_mode.py::"
            "test_what_a_capture_server_cannot_do_is_refused_before_anything_happens",
        ),
        Rule(
            "Cancelling ends a run at every boundary, and nothing recovers it",
            "contract/cancellation",
            "unit/extract/run/test_members.py::test_cancelling_ends_it_at_every_boundary_and_nothing_recovers",
        ),
        Rule(
            "What cannot work is refused before anything is sent",
            ours="integration/extract/test_http_mode.py::test_what_cannot_work_is_refused_and_nothing_is_sent",
        ),
        Rule(
            "A session goes with the first request; a redirect is judged like it",
            ours="integration/extract/test_http_mode.py::test_a_session_goes_with_the_first_request_only "
            "integration/extract/test_http_mode.py::test_a_redirect_is_judged_like_the_first_address",
        ),
        Rule(
            "No page ends in an exception or goes on for ever",
            ours="unit/extract/run/test_hostile_pages.py::test_hostile_page_ends "
            "unit/extract/run/test_hostile_pages.py::test_any_bytes_are_a_result_or_a_code",
        ),
    ),
}
RUN_BY = {
    "parser": "unit/extract/test_conformance.py::test_parser_case",
    "seeds": "unit/extract/test_conformance.py::test_parser_seed_parses",
    "bytes": "unit/extract/test_conformance.py::test_parser_case_of_bytes_that_are_not_utf8",
    "program": "unit/extract/test_conformance.py::test_valid_program_compiles_to_the_expected_ir "
    "unit/extract/test_conformance.py::test_invalid_program_is_told_of_as_expected",
    "imports": "unit/extract/test_conformance.py::test_import_case",
    "example": "unit/extract/test_conformance.py::test_example_compiles_to_the_expected_ir_and_reads_back",
    "html": "unit/extract/run/test_conformance.py::test_html_compatibility_case",
    "charset": "unit/extract/run/test_conformance.py::test_charset_case",
    "snapshot": "unit/extract/run/test_conformance.py::test_snapshot_case",
    "run": "unit/extract/run/test_conformance.py::test_runtime_case",
    "run-example": "unit/extract/run/test_conformance.py::test_example",
    "contract": "unit/extract/test_conformance.py::test_built_in_contract "
    "unit/extract/run/test_conformance.py::test_cancellation_case",
}
"""The tests that run the cases of each family."""


def cases_of_the_data() -> Iterator[str]:
    """Every case that the conformance data has, as `family/name`."""

    def names(family: str, cases: Any, key: str) -> Iterator[str]:
        yield from (f"{family}/{one[key]}" for one in cases)

    manifest = shared_json("conformance/manifest.json")["cases"]
    yield from names("program", manifest, "id")
    yield from names("run", (one for one in manifest if {"output", "html"} <= set(one["expectations"])), "id")
    yield from names("parser", shared_json("fixtures/parser/cases.json"), "name")
    yield from names("imports", shared_json("fixtures/imports/cases.json"), "name")
    yield from names("html", shared_json("fixtures/html-compat/manifest.json")["cases"], "id")
    yield from names("charset", shared_json("fixtures/html-compat/charset-manifest.json")["cases"], "id")
    yield from names("snapshot", shared_json("fixtures/snapshot/cases.json"), "name")
    yield from (f"example/{path.parent.name}" for path in FOLDER.glob("examples/*/expected-ir.json"))
    yield from (f"run-example/{path.parent.name}" for path in FOLDER.glob("examples/*/expected-output.json"))
    yield from ("seeds/all", "bytes/invalid-utf8", "contract/built-ins", "contract/cancellation")


def cases_of_the_table() -> list[str]:
    return [case for rules in RULES.values() for rule in rules for case in rule.cases.split()]


def named_tests() -> list[str]:
    named = [*RUN_BY.values(), *(rule.ours for rules in RULES.values() for rule in rules)]
    return " ".join(named).split()


def is_there(test: str) -> bool:
    """Whether the file has a test of that name."""
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return any(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name for one in tree.body)


def _short(test: str) -> str:
    return test.partition("::")[2]


def page() -> str:
    """The page of the docs."""
    lines = [
        "# What proves the language",
        "",
        "For each rule of the scraping language: the cases of the public conformance data that prove it, and tests",
        "of our own. Written by `python -m tests.unit.extract.conformance_table`; a test keeps it exact: every case",
        "of the data is here, and every test that is named is there.",
    ]
    for section, rules in RULES.items():
        lines += ["", f"## {section}", "", "| rule | cases | our own tests |", "|---|---|---|"]
        lines += [
            f"| {rule.says} | {' '.join(f'`{case}`' for case in rule.cases.split())} "
            f"| {' '.join(f'`{_short(test)}`' for test in rule.ours.split())} |"
            for rule in rules
        ]
    lines += ["", "## Families of cases", "", "| family | run by |", "|---|---|"]
    lines += [
        f"| `{family}` | {' '.join(f'`tests/{one}`' for one in tests.split())} |" for family, tests in RUN_BY.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(PAGE).write_text(page(), encoding="utf-8")
