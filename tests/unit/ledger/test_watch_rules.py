"""Rules of watched pages: when they are due, what reports mean, how they are counted and paced."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from comity.contract.watch import Outcome, WatchSettings
from ledger.rules import watch_due, watch_pace, watch_token
from ledger.rules.watch_due import Bounds, DueFacts, after_loss, because_of_bounds, due_within, next_due
from ledger.rules.watch_freshness import freshness
from ledger.rules.watch_outcome import Known, judge
from ledger.rules.watch_pace import Pace
from ledger.rules.watch_pages import (
    kept_settings,
    number_of,
    page_id,
    settings_of,
    url_digest,
    why_not_these_overrides,
)
from ledger.rules.watch_tally import IN_QUEUE, PAUSED, PROCESSING, TallyChange, figures, minute_of

NOW = datetime(2030, 1, 31, 12, 0, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BOUNDS = Bounds(timedelta(minutes=15), timedelta(days=30))


def _due(outcome: Outcome = "unchanged", *, settings: dict[str, Any] | None = None, **change: Any) -> watch_due.Due:
    facts: dict[str, Any] = {
        "now": NOW,
        "settings": WatchSettings.model_validate(settings or {}),
        "bounds": BOUNDS,
        "outcome": outcome,
        "failures": 1 if outcome == "failed" else 0,
        "rate": None,
        "last_success_at": NOW - DAY,
        "lists": 0,
        "retry_after_ms": None,
        "spread": 0.5,
    }
    return next_due(DueFacts(**facts | change))


def test_page_of_which_nothing_is_known_is_due_in_about_a_day() -> None:
    assert HOUR * 20 < _due().at - NOW < HOUR * 40


def test_change_brings_the_next_visit_nearer_and_none_puts_it_off() -> None:
    changed, unchanged = _due("changed"), _due("unchanged")
    assert changed.at < unchanged.at
    assert changed.rate_a_day is not None
    assert unchanged.rate_a_day is not None
    assert changed.rate_a_day > unchanged.rate_a_day
    assert _due("not-modified").rate == unchanged.rate


def test_what_was_learnt_is_carried_on() -> None:
    rate: tuple[float, ...] | None = None
    for _ in range(20):
        rate = _due("changed", rate=rate, last_success_at=NOW - HOUR).rate
    assert _due("changed", rate=rate, last_success_at=NOW - HOUR).at - NOW < HOUR * 8


@pytest.mark.parametrize("outcome", ["changed", "unchanged", "not-modified"])
def test_fixed_interval_is_kept_to_the_second(outcome: Outcome) -> None:
    for spread in (0.0, 0.999):
        assert _due(outcome, settings={"fixedIntervalMs": 3_600_000}, spread=spread).at == NOW + HOUR


@pytest.mark.parametrize("spread", [0.0, 0.5, 0.999])
def test_bounds_win_over_what_was_learnt(spread: float) -> None:
    often, seldom = (200.0, 1.0), (0.2, 20_000.0)
    settings = {"minIntervalMs": 7_200_000, "maxIntervalMs": 86_400_000}
    assert _due(settings=settings, rate=often, spread=spread, last_success_at=NOW - HOUR).at >= NOW + 2 * HOUR
    assert _due(settings=settings, rate=seldom, spread=spread).at <= NOW + DAY


def test_pages_that_were_visited_together_do_not_stay_together() -> None:
    assert _due(spread=0.0).at < _due(spread=0.999).at


def test_first_content_is_looked_at_again_soon() -> None:
    assert _due("first").at == NOW + timedelta(minutes=10)
    assert _due("first", settings={"fixedIntervalMs": 60_000}).at == NOW + timedelta(minutes=1)


def test_failures_wait_longer_each_time_and_as_long_as_the_site_asks() -> None:
    waits = [_due("failed", failures=failures).at - NOW for failures in (1, 2, 3)]
    assert waits == sorted(waits)
    assert waits == [timedelta(minutes=15), timedelta(minutes=30), 2 * HOUR]
    assert _due("failed", rate=(0.001, 1e6), problem="HTTP 404").because == (
        "its last visit failed: HTTP 404; it is tried again after 15 min"
    )
    asked = _due("failed", retry_after_ms=40 * 86_400_000)
    assert asked.at == NOW + 40 * DAY
    assert "asked" in asked.because


def test_page_that_robots_forbid_is_asked_about_again_in_a_day() -> None:
    assert _due("skipped").at == NOW + DAY


def test_first_loss_changes_nothing_and_later_ones_put_the_page_off() -> None:
    due = NOW - HOUR
    waits = [after_loss(due, lost, ended_at=NOW) for lost in (1, 2, 3, 60)]
    assert waits == [due, NOW + timedelta(minutes=1), NOW + timedelta(minutes=2), NOW + 6 * HOUR]


# --- what reports mean


@pytest.mark.parametrize(
    ("known", "outcome", "content", "counts", "keep", "event"),
    [
        (None, "first", "a", "first", True, None),
        (None, "changed", "a", "first", True, None),
        (None, "unchanged", "a", "first", True, None),
        ("a", "changed", "b", "changed", True, "changed"),
        ("a", "changed", "a", "unchanged", False, None),
        ("a", "unchanged", "b", "unchanged", True, None),
        ("a", "unchanged", None, "unchanged", False, None),
        ("a", "not-modified", None, "not-modified", False, None),
        (None, "not-modified", None, "not-modified", False, None),
        ("a", "skipped", None, "skipped", False, None),
    ],
)
def test_report_means_what_it_says_beside_what_is_known(
    known: str | None, outcome: Outcome, content: str | None, counts: str, keep: bool, event: str | None
) -> None:
    meaning = judge(Known(known, 0, False), outcome, content, tell_after_failures=3)
    assert (meaning.outcome, meaning.keep, meaning.event) == (counts, keep, event)


def test_failures_are_told_at_the_threshold_and_not_again() -> None:
    told = [judge(Known("a", failures, failures > 2), "failed", None, tell_after_failures=3) for failures in range(5)]
    assert [meaning.event for meaning in told] == [None, None, "failing", None, None]
    assert [meaning.failing_told for meaning in told] == [False, False, True, True, True]


def test_recovery_is_told_where_the_failure_was_and_news_are_told_instead() -> None:
    assert judge(Known("a", 5, True), "unchanged", None, tell_after_failures=3).event == "recovered"
    assert judge(Known("a", 5, True), "changed", "b", tell_after_failures=3).event == "changed"
    assert judge(Known("a", 2, False), "unchanged", None, tell_after_failures=3).event is None


# --- counts


def test_counts_come_back_to_nothing_whatever_way_a_page_takes() -> None:
    due, later = NOW, NOW + DAY
    change = TallyChange()
    change.joins(2, "o", due)
    change.claimed(2, "o", due)
    change.landed(2, "o", later)
    change.moves(2, "o", later, due)
    change.leaves(2, "o", due)
    assert change.changes() == []
    change.joins(2, "o", due)
    change.claimed(2, "o", due)
    change.leaves(2, "o", due, in_flight=True)
    change.landed(2, "o", None)
    assert change.changes() == []


def test_pages_are_late_from_the_end_of_their_minute_on() -> None:
    this, before = minute_of(NOW), minute_of(NOW) - 5
    found = figures([(IN_QUEUE, 10), (PROCESSING, 2), (PAUSED, 4), (before, 3), (this, 5), (before, -1)], now=NOW)
    assert (found.processing, found.delayed, found.queued, found.paused) == (2, 2, 6, 4)
    assert found.oldest_late_ms == 5 * 60_000 + 30_000


def test_nothing_is_late_where_shards_cancel_out() -> None:
    assert figures([(minute_of(NOW) - 1, 3), (minute_of(NOW) - 1, -3)], now=NOW).oldest_late_ms == 0


# --- pace


def test_pace_fills_with_time_and_never_over_two_seconds_worth() -> None:
    first = watch_pace.take(Pace(1e9, NOW), 100, a_second=10, now=NOW)
    assert (first.count, first.again_ms > 0) == (20, True)
    second = watch_pace.take(first.pace, 100, a_second=10, now=NOW + timedelta(seconds=0.5))
    assert second.count == 5
    assert watch_pace.take(second.pace, 3, a_second=10, now=NOW + HOUR).count == 3


def test_clock_that_is_set_back_fills_nothing_and_one_a_minute_comes() -> None:
    spent = watch_pace.take(Pace(0, NOW), 1, a_second=10, now=NOW - HOUR)
    assert spent.count == 0
    slow = watch_pace.take(Pace(0, NOW), 5, a_second=1 / 60, now=NOW + timedelta(seconds=61))
    assert slow.count == 1


# --- settings and names


def test_settings_are_kept_where_they_differ_and_come_back_whole() -> None:
    assert kept_settings(WatchSettings()) is None
    wanted = WatchSettings.model_validate({"watched": {"kind": "selector", "selector": "p"}, "maskDigits": True})
    kept = kept_settings(wanted)
    assert kept == {"watched": {"kind": "selector", "selector": "p"}, "maskDigits": True}
    assert settings_of(kept) == wanted
    assert settings_of(None) == WatchSettings()


def test_canary_ends_what_it_contradicts() -> None:
    kept = {"canary": "fast", "minIntervalMs": 3_600_000, "maskDigits": True}
    found = settings_of(kept, {"fast": {"fixedIntervalMs": 60_000}})
    assert (found.fixed_interval_ms, found.min_interval_ms, found.mask_digits) == (60_000, None, True)
    found = settings_of({"canary": "wide", "fixedIntervalMs": 60_000}, {"wide": {"maxIntervalMs": 120_000}})
    assert (found.fixed_interval_ms, found.max_interval_ms) == (None, 120_000)
    assert settings_of({"canary": "gone", "maskDigits": True}, {}).mask_digits is True


def test_overrides_that_are_no_settings_are_named() -> None:
    assert why_not_these_overrides("fast", {"fixedIntervalMs": 60_000}) is None
    assert why_not_these_overrides("patient", {"maskDigits": True, "visit": {"firstByteMs": 60_000}}) is None
    for overrides, word in (
        ({"fixedIntervalMs": 1}, "fixedIntervalMs"),
        ({"unknown": 1}, "unknown"),
        ({"canary": "other"}, "canary"),
        ({"ignore": ["("]}, "ignore.0"),
        ({"watched": {"kind": "selector", "selector": "a[["}}, "watched.selector"),
        ({"visit": {"firstByteMs": 1}}, "visit.firstByteMs"),
        ({"visit": {"first_bite_ms": 500}}, "visit.first_bite_ms"),
        ({"visit": 5}, "visit: "),
    ):
        assert word in (why_not_these_overrides("fast", overrides) or "")


def test_names_of_pages_are_numbers_and_nothing_else_is_one() -> None:
    assert number_of(page_id(42)) == 42
    for name in ("42", "w", "w-1", "w1x", "e1", "w" + "9" * 19, "w１"):
        assert number_of(name) is None
    assert url_digest("a", "b") != url_digest("ab", "")


def test_token_names_its_page() -> None:
    token = watch_token.token(5_000_000, "0123456789abcdef")
    assert (watch_token.page_of(token), len(token) <= 32) == (5_000_000, True)
    assert watch_token.page_of("l0123456789abcdef") is None


def test_freshness_of_a_list_leaves_out_what_is_paused() -> None:
    facts = [
        (False, NOW + HOUR, NOW - HOUR / 2, False),
        (False, NOW - HOUR, NOW - DAY * 2, True),
        (False, NOW - timedelta(seconds=1), None, False),
        (True, None, NOW - DAY * 9, False),
    ]
    found = freshness(facts, now=NOW)
    assert (found.pages, found.paused, found.never, found.late, found.failing) == (4, 1, 1, 2, 1)
    assert (found.visited_within_hour, found.visited_within_day) == (1, 1)
    assert (found.oldest_age_ms, found.oldest_late_ms) == (2 * 86_400_000, 3_600_000)
    assert freshness([], now=NOW).mean_age_ms is None


@pytest.mark.parametrize(
    ("due_in_h", "most_h", "at_h"),
    [
        (48, 1, 0),  # visited an hour ago: now
        (48, 0.5, 0),
        (48, 30, 29),
        (2, 30, 2),
        (-1, 30, -1),
    ],
)
def test_page_whose_longest_interval_became_shorter_is_due_sooner_and_never_later(
    due_in_h: float, most_h: float, at_h: float
) -> None:
    hour = timedelta(hours=1)
    bounds = Bounds(hour, most_h * hour)
    facts: dict[str, Any] = {"last_visit_at": NOW - hour, "now": NOW}
    assert due_within(NOW + due_in_h * hour, bounds, last_outcome="unchanged", **facts) == NOW + at_h * hour


@pytest.mark.parametrize("outcome", ["failed", "skipped", None])
def test_shorter_interval_hurries_no_page_that_was_not_well(outcome: str | None) -> None:
    hour = timedelta(hours=1)
    facts: dict[str, Any] = {"last_visit_at": NOW - hour, "now": NOW}
    assert due_within(NOW + 48 * hour, Bounds(hour, hour), last_outcome=outcome, **facts) == NOW + 48 * hour


def test_reason_tells_a_fixed_interval_from_a_longest_one() -> None:
    hour = timedelta(hours=1)
    assert because_of_bounds(Bounds(2 * hour, 2 * hour)) == "it is set to be visited every 2 h"
    assert because_of_bounds(Bounds(hour, 2 * hour)) == "its longest interval was set to 2 h"
