"""The next visit and the sentence that explains it."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.watch.rules.change_rate import ChangeRate
from comity.watch.rules.next_visit import next_visit, span
from comity.watch.rules.revisit import Bounds, Price, Watched

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def page(rate: float = 0.5, weight: float = 1, least: float = 0.01, most: float = 30) -> Watched:
    return Watched(ChangeRate(rate * 100, 100), weight, Bounds(least, most))


def test_learnt_rate_and_lists_are_told() -> None:
    visit = next_visit(page(weight=4), Price(0.5), now=NOW)
    assert NOW < visit.due_at < NOW + timedelta(days=5)
    assert visit.because.startswith("it changes about once in 2 days, is in 4 lists, and a visit every ")


def test_fixed_interval_is_told_as_such() -> None:
    visit = next_visit(page(least=0.25, most=0.25), Price(0.5), now=NOW)
    assert visit.due_at == NOW + timedelta(hours=6)
    assert visit.because == "it is set to be visited every 6 h"


@pytest.mark.parametrize(
    ("rate", "price", "days", "says"),
    [
        (50.0, 1.0, 30, "do more for other pages; its longest interval is 30 days"),
        (0.001, 0.5, 30, "which is seldom; its longest interval is 30 days"),
        (1000.0, 1e-9, 0.01, "and its shortest interval is 14 min"),
    ],
)
def test_bounds_win_and_are_told(rate: float, price: float, days: float, says: str) -> None:
    visit = next_visit(page(rate), Price(price), now=NOW)
    assert visit.due_at == NOW + timedelta(days=days)
    assert visit.because.endswith(says)


MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("failures", "least", "most", "wait"),
    [
        (1, 0.001, 30, 5 * MINUTE),
        (2, 0.001, 30, 30 * MINUTE),
        (3, 0.001, 30, 2 * HOUR),
        (4, 0.001, 30, 6 * HOUR),
        (5, 0.001, 30, DAY),
        (500, 0.001, 30, DAY),
        (1, 1 / 96, 30, 15 * MINUTE),
        (9, 2, 30, 2 * DAY),
        (9, 0.001, 0.5, DAY / 2),
        (1, 0.25, 0.25, 6 * HOUR),
        (9, 1 / 1440, 1 / 1440, MINUTE),
    ],
)
@pytest.mark.parametrize("price", [1e-9, 0.5, 1e12])
def test_page_that_failed_is_visited_soon_then_later_each_time_within_bounds(
    failures: int, least: float, most: float, wait: timedelta, price: float
) -> None:
    found = next_visit(page(least=least, most=most), Price(price), now=NOW, failures=failures)
    assert abs(found.due_at - NOW - wait) < timedelta(milliseconds=1)


def test_failure_is_told_with_its_reason() -> None:
    once = next_visit(page(least=0.001), Price(0.5), now=NOW, failures=1, problem="the site answered 404")
    assert once.because == "its last visit failed: the site answered 404; it is tried again after 5 min"
    often = next_visit(page(), Price(0.5), now=NOW, failures=4)
    assert often.because == "its last 4 visits failed; it is tried again after 6 h"
    until = NOW + timedelta(hours=1)
    asked = next_visit(page(), Price(0.5), now=NOW, failures=1, problem="the site answered 503", rests_until=until)
    assert (asked.due_at, asked.because) == (until, "its host asked to be left alone until then")


def test_host_that_asked_for_rest_is_left_alone_until_then() -> None:
    until = NOW + timedelta(days=40)
    visit = next_visit(page(), Price(0.5), now=NOW, rests_until=until)
    assert visit.due_at == until
    assert visit.because == "its host asked to be left alone until then"
    soon = NOW + timedelta(seconds=1)
    assert next_visit(page(), Price(0.5), now=NOW, rests_until=soon).due_at > soon


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (30, "30 days"),
        (2, "2 days"),
        (1.5, "36 h"),
        (0.125, "3 h"),
        (1 / 24, "60 min"),
        (90 / 86400, "90 s"),
        (400, "400 days"),
    ],
)
def test_spans_read_as_people_say_them(days: float, text: str) -> None:
    assert span(days) == text
