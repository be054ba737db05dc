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


def test_failures_double_the_wait_up_to_a_week_within_bounds() -> None:
    usual = next_visit(page(), Price(0.01), now=NOW).due_at - NOW
    once = next_visit(page(), Price(0.01), now=NOW, failures=1)
    assert once.due_at - NOW == pytest.approx(2 * usual, abs=timedelta(seconds=1))
    assert once.because == "the last visit failed, and each failure doubles the wait, up to 7 days"
    often = next_visit(page(), Price(0.01), now=NOW, failures=500)
    assert often.due_at == NOW + timedelta(days=7)
    assert next_visit(page(most=2), Price(0.01), now=NOW, failures=9).due_at == NOW + timedelta(days=2)
    assert next_visit(page(least=1, most=1), Price(0.01), now=NOW, failures=9).due_at == NOW + timedelta(days=1)


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
