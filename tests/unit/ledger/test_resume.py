"""What follows an attempt that did not close its level."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.contract.ledger import MAX_REASON_CHARACTERS, AttemptEnd
from flows.rules.pacing import Pacing
from ledger.rules.resume import (
    CUT_OFF_S,
    MAX_ATTEMPTS,
    MAX_STOPS,
    CloseCrawl,
    Ended,
    NextAttempt,
    after_attempt,
    may_begin,
    visit_unstored_again,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def _ended(*ends: AttemptEnd, reason: str = "why") -> list[Ended]:
    return [Ended(number, how, f"{reason} {number}") for number, how in enumerate(ends, start=1)]


@pytest.mark.parametrize(
    ("ends", "follows"),
    [
        (("crashed",), NextAttempt(2)),
        (("lost",), NextAttempt(2)),
        (("silent",), NextAttempt(2)),
        (("silent", "crashed"), NextAttempt(3)),
        (("stopped",), NextAttempt(2)),
        (("unstored",), NextAttempt(2)),
        (("unstored", "crashed", "lost"), NextAttempt(4)),
        (("crashed", "stopped", "stopped", "stopped", "lost"), NextAttempt(6)),
        (("stopped",) * MAX_STOPS, NextAttempt(MAX_STOPS + 1)),
        (("stopped",) * (MAX_STOPS + 2), NextAttempt(MAX_STOPS + 3)),
        (
            ("stopped",) * (MAX_STOPS + 3),
            CloseCrawl(
                "failed", f"level 2 was tried {MAX_STOPS + 3} times: its runs were told to end {MAX_STOPS + 3} times"
            ),
        ),
        (
            ("crashed", "stopped", "silent", "lost"),
            CloseCrawl(
                "failed",
                "level 2 was tried 4 times: attempt 1 crashed: why 1; attempt 3 silent: why 3; attempt 4 lost: why 4",
            ),
        ),
        (("failed",), CloseCrawl("failed", "why 1")),
        (("cancelled",), CloseCrawl("cancelled", "why 1")),
        (("crashed", "failed"), CloseCrawl("failed", "why 2")),
        (("crashed", "lost", "cancelled"), CloseCrawl("cancelled", "why 3")),
        (
            ("crashed", "lost", "silent"),
            CloseCrawl(
                "failed",
                "level 2 was tried 3 times: attempt 1 crashed: why 1; attempt 2 lost: why 2; attempt 3 silent: why 3",
            ),
        ),
    ],
)
def test_what_follows_an_attempt(ends: tuple[AttemptEnd, ...], follows: NextAttempt | CloseCrawl) -> None:
    assert after_attempt(2, _ended(*ends)) == follows


def test_last_reason_names_every_attempt_within_the_limit() -> None:
    ended = _ended("crashed", "crashed", "crashed", reason="x" * MAX_REASON_CHARACTERS)
    what = after_attempt(0, ended)
    assert isinstance(what, CloseCrawl)
    assert len(what.reason) <= MAX_REASON_CHARACTERS
    assert all(f"attempt {number} crashed" in what.reason for number in range(1, MAX_ATTEMPTS + 1))


@pytest.mark.parametrize(
    ("unstored", "captured", "earlier", "again"),
    [
        (1, True, (None,), True),
        (1, True, ("crashed", "stopped", None), True),
        (0, True, (None,), False),
        (1, False, (None,), False),  # nothing of the level could be stored: the sink is broken
        (1, True, ("unstored", None), False),  # once
        (1, True, ("unstored", "crashed", None), False),
    ],
)
def test_pages_that_we_lost_are_visited_once_more(
    unstored: int, captured: bool, earlier: tuple[AttemptEnd | None, ...], again: bool
) -> None:
    assert visit_unstored_again(unstored=unstored, captured=captured, earlier=earlier) is again


@pytest.mark.parametrize(
    ("states", "heard_s", "may"),
    [
        ((), 0, True),
        ((None,), 0, True),
        (("CRASHED",), 0, True),
        (("CANCELLED", "COMPLETED"), 0, True),
        (("CANCELLING",), 0, False),
        (("CRASHED", "RUNNING"), 100, False),
        (("CANCELLING",), CUT_OFF_S, False),
        (("CANCELLING",), CUT_OFF_S + 1, True),
        (("RUNNING",), None, True),
    ],
)
def test_next_attempt_waits_for_the_run_before_it_but_not_for_ever(
    states: tuple[str | None, ...], heard_s: float | None, may: bool
) -> None:
    heard_at = None if heard_s is None else NOW - timedelta(seconds=heard_s)
    assert may_begin(states, heard_at=heard_at, now=NOW) is may


def test_time_to_be_cut_off_covers_what_a_run_may_still_do() -> None:
    pacing = Pacing()
    assert pacing.result_budget_ms + pacing.capture_deadline_ms <= CUT_OFF_S * 1000
