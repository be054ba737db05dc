"""Whether a level's run still lives."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.contract.ledger import NO_HEARTBEAT
from ledger.rules.liveness import (
    DISPATCH,
    HEARD_LATELY_S,
    STALL_LIMIT_S,
    WAIT,
    LevelFacts,
    Limits,
    PrefectSilent,
    RunMissing,
    RunSeen,
    before_dispatch,
    by_ear,
    by_prefect,
)
from ledger.rules.resume import CUT_OFF_S

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LIMITS = Limits(
    silence_s=45,
    scheduled_s=600,
    pending_s=300,
    start_s=180,
    cancelling_s=120,
    ended_grace_s=5,
    dispatch_s=500,
)
LONG_AGO = NOW - timedelta(days=1)


def _ago(seconds: float | None) -> datetime | None:
    return None if seconds is None else NOW - timedelta(seconds=seconds)


def _level(
    opened: float = 0, first: float | None = None, last: float | None = None, settled: float | None = None
) -> LevelFacts:
    return LevelFacts(
        opened_at=NOW - timedelta(seconds=opened),
        first_seen_at=_ago(first),
        last_seen_at=_ago(last),
        last_settled_at=_ago(settled),
        dispatch_trouble="HTTP 503",
    )


@pytest.mark.parametrize(
    ("first", "last", "listening", "silent"),
    [
        (None, None, 1000, False),
        (100, 44, 1000, False),
        (100, 45, 1000, False),
        (100, 46, 1000, True),
        (100, 90, 44, False),  # the ledger itself was away: nobody could be heard
        (100, 90, 46, True),
    ],
)
def test_silence_is_counted_from_when_the_run_could_be_heard(
    first: float | None, last: float | None, listening: float, silent: bool
) -> None:
    verdict = by_ear(
        _level(first=first, last=last), LIMITS, now=NOW, listening_since=NOW - timedelta(seconds=listening)
    )
    assert (verdict.kind == "over") is silent
    if silent:
        assert verdict.how == "silent"
        assert verdict.reason == "no sign of life from the flow run for 45 s"
        assert verdict.stop_run


@pytest.mark.parametrize(("settled", "stalled"), [(STALL_LIMIT_S - 1, False), (STALL_LIMIT_S + 1, True)])
def test_run_that_lives_but_finishes_nothing_is_ended(settled: float, stalled: bool) -> None:
    verdict = by_ear(_level(first=9000, last=1, settled=settled), LIMITS, now=NOW, listening_since=LONG_AGO)
    assert ((verdict.kind, verdict.how, verdict.stop_run) == ("over", "silent", True)) is stalled


@pytest.mark.parametrize(("opened", "kind"), [(499, "dispatch"), (501, "over")])
def test_level_without_run_is_dispatched_until_it_is_hopeless(opened: float, kind: str) -> None:
    verdict = before_dispatch(_level(opened=opened), LIMITS, now=NOW, listening_since=LONG_AGO)
    assert verdict.kind == kind
    if kind == "over":
        assert verdict.how == "failed"
        assert "Prefect" in verdict.reason
        assert "HTTP 503" in verdict.reason


def test_level_that_somebody_works_on_is_not_dispatched() -> None:
    assert before_dispatch(_level(opened=9999, first=9000, last=1), LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT


@pytest.mark.parametrize(
    ("kind", "how"),
    [("COMPLETED", "lost"), ("FAILED", "failed"), ("CRASHED", "crashed"), ("CANCELLED", "cancelled")],
)
def test_ended_run_ends_the_attempt_after_its_own_words_had_time(kind: str, how: str) -> None:
    for level in (_level(), _level(first=100, last=HEARD_LATELY_S + 1)):
        early = by_prefect(level, RunSeen(kind, NOW - timedelta(seconds=4)), LIMITS, now=NOW, listening_since=LONG_AGO)
        assert early == WAIT
        verdict = by_prefect(
            level, RunSeen(kind, NOW - timedelta(seconds=5), "why"), LIMITS, now=NOW, listening_since=LONG_AGO
        )
        assert (verdict.kind, verdict.how, verdict.stop_run) == ("over", how, False)
        assert verdict.reason.endswith(": why")


@pytest.mark.parametrize(
    ("message", "how"),
    [
        ("Execution was aborted by a termination signal.", "stopped"),
        ("Execution was aborted by an interrupt signal.", "stopped"),
        ("Flow run process exited with code -9", "crashed"),
        ("", "crashed"),
    ],
)
def test_run_that_was_told_to_end_is_told_from_one_that_died(message: str, how: str) -> None:
    seen = RunSeen("CRASHED", NOW - timedelta(seconds=5), message)
    assert by_prefect(_level(), seen, LIMITS, now=NOW, listening_since=LONG_AGO).how == how


@pytest.mark.parametrize(
    ("seen", "heard_wins"),
    [
        (RunSeen("CRASHED", LONG_AGO), True),  # Prefect did not hear it; we do
        (RunSeen("COMPLETED", LONG_AGO), True),
        (RunSeen("FAILED", LONG_AGO), False),
        (RunSeen("CANCELLED", LONG_AGO), False),
    ],
)
def test_run_that_is_heard_lives_whatever_prefects_books_say(seen: RunSeen, heard_wins: bool) -> None:
    def kind(level: LevelFacts, listening_since: datetime = LONG_AGO) -> str:
        return by_prefect(level, seen, LIMITS, now=NOW, listening_since=listening_since).kind

    assert kind(_level(first=900, last=HEARD_LATELY_S)) == ("wait" if heard_wins else "over")
    silent = _level(first=900, last=HEARD_LATELY_S + 1)
    assert kind(silent) == "over"
    assert kind(silent, NOW - timedelta(seconds=1)) == ("wait" if heard_wins else "over")  # it could not be heard


@pytest.mark.parametrize("seen", [RunMissing(), RunSeen("CRASHED", LONG_AGO, f"{NO_HEARTBEAT} for 90 s: gone")])
def test_run_whose_end_nobody_saw_is_given_the_time_after_which_it_visits_nobody(seen: RunMissing | RunSeen) -> None:
    for last, kind in ((CUT_OFF_S, "wait"), (CUT_OFF_S + 1, "over")):
        level = _level(first=900, last=last)
        assert by_prefect(level, seen, LIMITS, now=NOW, listening_since=LONG_AGO).kind == kind


@pytest.mark.parametrize(
    ("kind", "limit", "how"),
    [
        ("SCHEDULED", 600, "failed"),
        ("PENDING", 300, "lost"),
        ("RUNNING", 180, "lost"),
        ("PAUSED", 180, "failed"),
        ("NEWFANGLED", 180, "lost"),
        ("CANCELLING", 120, "cancelled"),
    ],
)
def test_every_state_that_does_not_end_has_a_deadline(kind: str, limit: float, how: str) -> None:
    level = _level(opened=9999)
    at = RunSeen(kind, NOW - timedelta(seconds=limit))
    past = RunSeen(kind, NOW - timedelta(seconds=limit + 1))
    assert by_prefect(level, at, LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT
    verdict = by_prefect(level, past, LIMITS, now=NOW, listening_since=LONG_AGO)
    assert (verdict.kind, verdict.how, verdict.stop_run) == ("over", how, True)
    restarted = by_prefect(level, past, LIMITS, now=NOW, listening_since=NOW - timedelta(seconds=1))
    assert restarted == WAIT


@pytest.mark.parametrize("kind", ["SCHEDULED", "PENDING", "RUNNING", "PAUSED"])
def test_run_that_is_heard_is_left_alone_whatever_prefect_calls_it(kind: str) -> None:
    level = _level(opened=9999, first=9000, last=1)
    seen = RunSeen(kind, NOW - timedelta(seconds=9000))
    assert by_prefect(level, seen, LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT


def test_prefects_silence_is_no_verdict_on_a_run_that_is_heard() -> None:
    silent = PrefectSilent("ConnectError")
    alive = _level(opened=9999, first=9000, last=1)
    assert by_prefect(alive, silent, LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT
    waiting, hopeless = _level(opened=30), _level(opened=501)
    assert by_prefect(waiting, silent, LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT
    verdict = by_prefect(hopeless, silent, LIMITS, now=NOW, listening_since=LONG_AGO)
    assert (verdict.kind, verdict.how) == ("over", "failed")
    assert "Prefect" in verdict.reason


def test_run_that_prefect_lost_is_dispatched_again_unless_it_is_heard() -> None:
    assert by_prefect(_level(opened=10), RunMissing(), LIMITS, now=NOW, listening_since=LONG_AGO) == DISPATCH
    alive = _level(opened=10, first=9, last=1)
    assert by_prefect(alive, RunMissing(), LIMITS, now=NOW, listening_since=LONG_AGO) == WAIT
