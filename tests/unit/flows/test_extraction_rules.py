"""What the ledger is told of a page's extraction, and when."""

import pytest

from flows.rules.extraction import Gave, due, failure, result_of


def test_value_and_warnings_are_told_as_they_are() -> None:
    warning = {"code": "W_X", "message": "two\nlines", "path": "output.a", "row": 3}
    told = result_of("p1", "facts", Gave({"a": "縁側"}, True, [warning]))
    assert (told.value, told.partial, told.error) == ({"a": "縁側"}, True, None)
    assert [one.to_wire() for one in told.warnings] == [{**warning, "message": "two lines"}]


def test_failure_is_told_without_a_value() -> None:
    told = result_of("p1", "facts", failure("E_TIMEOUT", "x" * 5000, "output.a"))
    assert told.value is None
    assert told.error is not None
    assert (told.error.code, len(told.error.message), told.error.path) == ("E_TIMEOUT", 1000, "output.a")


@pytest.mark.parametrize(
    ("value", "path"),
    [({"a": "\0"}, "output.a"), ({"a": [{"b": "x"}, {"b": "\ud800"}]}, "output.a[1].b")],
)
def test_text_that_no_database_holds_gives_the_page_a_code(value: dict[str, object], path: str) -> None:
    told = result_of("p1", "facts", Gave(value))
    assert told.value is None
    assert told.error is not None
    assert (told.error.code, told.error.path) == ("E_PAGE_RESULT_UNSTORABLE", path)


def test_many_warnings_are_cut_and_counted() -> None:
    warnings = [{"code": "W_X", "message": str(number)} for number in range(1000)]
    told = result_of("p1", "facts", Gave({}, warnings=warnings)).warnings
    assert len(told) == 200
    assert (told[-1].code, told[-1].message) == ("W_MORE_WARNINGS", "and 801 more")
    assert len(result_of("p1", "facts", Gave({}, warnings=warnings[:200])).warnings) == 200


@pytest.mark.parametrize(
    ("results", "size_bytes", "silent_ms", "wanted"),
    [(99, 0, 0, False), (100, 0, 0, True), (1, 4 * 1024 * 1024, 0, True), (1, 10, 4_999, False), (0, 0, 5_000, True)],
)
def test_a_report_is_due_by_number_size_or_silence(results: int, size_bytes: int, silent_ms: int, wanted: bool) -> None:
    assert due(results, size_bytes, silent_ms) is wanted
