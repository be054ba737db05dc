"""When Prefect is asked again, and when it has said enough."""

from datetime import UTC, datetime

import pytest

from ledger.rules.ask_again import Patience, asked_pause_s, is_passing

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
PATIENCE = Patience(budget_s=10.0, first_pause_s=0.5, longest_pause_s=2.0)


@pytest.mark.parametrize(("tries", "pause_s"), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 2.0), (5_000, 2.0)])
def test_pauses_double_up_to_the_longest(tries: int, pause_s: float) -> None:
    assert PATIENCE.pause_s(tries=tries, waited_s=1.0, retry_after=None, now=NOW) == pause_s


@pytest.mark.parametrize(
    ("waited_s", "retry_after", "pause_s"),
    [
        (0.0, "3", 3.0),
        (0.0, "0", 0.5),  # never hurried by it
        (0.0, "soon", 0.5),
        (0.0, "9", 9.0),
        (0.0, "10", None),
        (8.0, "1", 1.0),
        (8.0, "2", None),
        (9.4, None, 0.5),
        (9.5, None, None),
        (600.0, None, None),
    ],
)
def test_retry_after_is_kept_to_within_the_budget(
    waited_s: float, retry_after: str | None, pause_s: float | None
) -> None:
    assert PATIENCE.pause_s(tries=1, waited_s=waited_s, retry_after=retry_after, now=NOW) == pause_s


@pytest.mark.parametrize(
    ("header", "asked_s"),
    [
        (None, 0.0),
        ("", 0.0),
        ("120", 120.0),
        ("-1", 0.0),
        ("1.5", 0.0),
        ("٣", 0.0),
        ("9" * 400, 999_999_999.0),
        ("Tue, 01 Jan 2030 12:00:07 GMT", 7.0),
        ("Tue, 01 Jan 2030 12:00:07 -0000", 7.0),
        ("Tue, 01 Jan 2030 11:59:00 GMT", 0.0),
        ("Tue, 99 Jan 2030 11:59:00 GMT", 0.0),
    ],
)
def test_retry_after_comes_as_seconds_or_as_a_date(header: str | None, asked_s: float) -> None:
    assert asked_pause_s(header, NOW) == asked_s


@pytest.mark.parametrize(
    ("status", "passing"),
    [(200, False), (401, False), (404, False), (408, True), (409, False), (422, False), (429, True), (500, True),
     (502, True), (503, True), (504, True)],
)  # fmt: skip
def test_verdicts_are_told_from_refusals_that_pass(status: int, passing: bool) -> None:
    assert is_passing(status) == passing
