"""The table of rules and their proofs says what there is."""

from tests.unit.extract.conformance_table import (
    PAGE,
    RUN_BY,
    cases_of_the_data,
    cases_of_the_table,
    is_there,
    named_tests,
    page,
)
from tests.unit.extract.shared_data import needs_shared_data


def test_page_of_the_docs_is_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.unit.extract.conformance_table writes it anew"


@needs_shared_data
def test_every_case_of_the_data_proves_one_rule_and_no_other_is_named() -> None:
    assert sorted(cases_of_the_table()) == sorted(cases_of_the_data())


def test_every_family_and_every_test_that_is_named_is_there() -> None:
    assert {case.partition("/")[0] for case in cases_of_the_table()} == set(RUN_BY)
    assert [test for test in named_tests() if not is_there(test)] == []
