"""What is told, when, and when it is folded."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from comity.watch.rules.quiet_hours import QuietHours
from comity.watch.rules.telling import AT_ONCE, FOLD_WINDOW, RETRY_AFTER, Kind, Waiting, decide, mended, next_try_at

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def events(kind: Kind, count: int, *, since_s: float = 0, first: int = 1) -> list[Waiting]:
    at = NOW - timedelta(seconds=since_s)
    return [Waiting(f"e{n:04}", kind, f"w{n}", at) for n in range(first, first + count)]


def test_few_changes_are_told_at_once_each_by_itself() -> None:
    decision = decide(events("changed", AT_ONCE), now=NOW)
    assert [len(message.events) for message in decision.messages] == [1] * AT_ONCE
    assert not any(message.folded for message in decision.messages)


def test_many_changes_are_one_message_that_holds_all() -> None:
    (message,) = decide(events("changed", 300), now=NOW).messages
    assert message.folded
    assert len(message.events) == 300


def test_failures_wait_a_moment_for_others_and_then_are_told_together() -> None:
    early = decide(events("failing", 1, since_s=10), now=NOW)
    assert early.messages == ()
    assert early.look_again_at == NOW + FOLD_WINDOW - timedelta(seconds=10)
    flood = events("failing", 1, since_s=61) + events("failing", 200, since_s=5, first=2)
    (message,) = decide(flood, now=NOW).messages
    assert len(message.events) == 201


def test_page_that_failed_and_recovered_while_it_waited_is_not_told() -> None:
    waiting = [
        Waiting("e1", "failing", "w1", NOW - timedelta(hours=2)),
        Waiting("e2", "recovered", "w1", NOW - timedelta(hours=1)),
        Waiting("e3", "recovered", "w2", NOW - timedelta(hours=1)),
    ]
    assert [message.events[0].event_id for message in decide(waiting, now=NOW).messages] == ["e3"]
    assert [one.event_id for one in mended(waiting)] == ["e1", "e2"]


def test_page_that_fails_again_is_told() -> None:
    waiting = [
        Waiting("e1", "recovered", "w1", NOW - timedelta(hours=2)),
        Waiting("e2", "failing", "w1", NOW - timedelta(hours=1)),
    ]
    assert [message.kind for message in decide(waiting, now=NOW).messages] == ["recovered", "failing"]


def test_order_is_that_of_what_happened() -> None:
    waiting = events("recovered", 1, since_s=500) + events("changed", 1, since_s=100, first=7)
    assert [message.kind for message in decide(waiting, now=NOW).messages] == ["recovered", "changed"]


def test_nothing_is_told_in_quiet_hours_and_everything_afterwards() -> None:
    quiet = QuietHours(time(22), time(7), BERLIN)
    night = datetime(2026, 3, 1, 23, tzinfo=UTC)
    waiting = [Waiting("e1", "changed", "w1", night)]
    decision = decide(waiting, now=night, quiet=quiet)
    assert decision.messages == ()
    assert decision.look_again_at == datetime(2026, 3, 2, 6, tzinfo=UTC)
    assert len(decide(waiting, now=datetime(2026, 3, 2, 6, tzinfo=UTC), quiet=quiet).messages) == 1


@pytest.mark.parametrize(
    ("begin", "end", "now", "until"),
    [
        ((9, 0), (17, 0), "2026-03-02T08:30+00:00", "2026-03-02T16:00+00:00"),
        ((9, 0), (17, 0), "2026-03-02T07:59+00:00", None),
        ((9, 0), (17, 0), "2026-03-02T16:00+00:00", None),
        ((22, 0), (7, 0), "2026-03-02T03:00+00:00", "2026-03-02T06:00+00:00"),
        ((22, 0), (7, 0), "2026-03-02T12:00+00:00", None),
        ((8, 0), (8, 0), "2026-03-02T07:00+00:00", None),
        # The night in which clocks go from 2 to 3: quiet until 7 by the new time.
        ((22, 0), (7, 0), "2026-03-28T22:00+00:00", "2026-03-29T05:00+00:00"),
        # Quiet that ends in the hour that is left out.
        ((22, 0), (2, 30), "2026-03-29T00:30+00:00", "2026-03-29T01:30+00:00"),
    ],
)
def test_quiet_hours_are_by_the_clock_on_the_wall(
    begin: tuple[int, int], end: tuple[int, int], now: str, until: str | None
) -> None:
    found = QuietHours(time(*begin), time(*end), BERLIN).until(datetime.fromisoformat(now))
    assert found == (datetime.fromisoformat(until) if until else None)


def test_receiver_that_is_away_is_tried_for_most_of_a_day_and_then_given_up() -> None:
    at, tries = NOW, 0
    while (again := next_try_at(tries + 1, now=at)) is not None:
        assert again > at
        at, tries = again, tries + 1
    assert tries == len(RETRY_AFTER)
    assert timedelta(hours=16) < at - NOW < timedelta(days=2)


def test_receiver_that_asks_for_time_gets_it_up_to_a_day() -> None:
    assert next_try_at(1, now=NOW, retry_after=timedelta(minutes=7)) == NOW + timedelta(minutes=7)
    assert next_try_at(1, now=NOW, retry_after=timedelta(days=400)) == NOW + timedelta(days=1)
    assert next_try_at(3, now=NOW, retry_after=timedelta(seconds=1)) == NOW + RETRY_AFTER[2]
