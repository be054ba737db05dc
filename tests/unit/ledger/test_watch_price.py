"""A new price is fitted daily, or when it is another lot of pages, learns from the visits that the old one made, and
brings back the pages that the old one put off."""

from datetime import UTC, datetime, timedelta

import pytest

from comity.watch.rules.change_rate import ChangeRate
from comity.watch.rules.revisit import Bounds, Price, Watched, interval_days
from ledger.rules.watch_price import LastFit, brought_forward, fell, is_due, made_a_day

AT = datetime(2026, 3, 1, tzinfo=UTC)
LAST = LastFit(at=AT, pages=100, visits_a_day=100, visit_id=1000)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
HIGHEST, USUAL = Price(1e12), Price(0.5)


def page(rate: float = 0.5, least: float = 0.01, most: float = 30) -> Watched:
    return Watched(ChangeRate(rate * 100, 100), 1, Bounds(least, most))


PAGE = page()


@pytest.mark.parametrize(
    ("last", "pages", "budget", "age", "due"),
    [
        (None, 0, 0, DAY, False),
        (None, 1, 1, DAY, True),
        (LAST, 0, 0, DAY, False),
        (LAST, 100, 100, DAY - SECOND, False),
        (LAST, 100, 100, DAY, True),
        (LAST, 125, 125, SECOND, False),
        (LAST, 126, 126, SECOND, True),
        (LAST, 80, 80, SECOND, False),
        (LAST, 79, 79, SECOND, True),
        (LAST, 126, 100, SECOND, True),
        (LAST, 100, 126, SECOND, True),
        (LAST, 100, 50, SECOND, True),
        (LAST, 100, 100, -DAY, False),
        (LastFit(at=AT, pages=1, visits_a_day=1, visit_id=0), 2, 2, SECOND, True),
    ],
)
def test_fit_is_due_daily_and_when_pages_or_budget_are_many_more_or_fewer(
    last: LastFit | None, pages: int, budget: float, age: timedelta, due: bool
) -> None:
    assert is_due(last, pages=pages, visits_a_day=budget, now=AT + age) is due


@pytest.mark.parametrize(
    ("last", "visits", "age", "made"),
    [
        (None, 500, DAY, None),
        (LAST, 500, DAY / 4 - SECOND, None),
        (LAST, 500, DAY / 4, 2000),
        (LAST, 500, DAY, 500),
        (LAST, 500, DAY * 2, 250),
        (LAST, 0, DAY, 0),
        (LAST, 500, -DAY, None),
    ],
)
def test_visits_a_day_are_those_since_the_last_fit(
    last: LastFit | None, visits: int, age: timedelta, made: float | None
) -> None:
    assert made_a_day(last, [(page(), visits)], price=USUAL, share=1, now=AT + age) == made


def test_visits_for_the_longest_interval_count_as_planned() -> None:
    hourly = page(1e-6, most=1 / 24)
    found = made_a_day(LAST, [(hourly, 20), (page(), 3), (page(), 1)], price=USUAL, share=1.5, now=AT + DAY)
    assert found == pytest.approx(1.5 + 3 + 1)


@pytest.mark.parametrize(
    ("before", "now", "is_so"), [(1.51, 1, True), (1.49, 1, False), (1, 2, False), (1e12, 1, True)]
)
def test_price_fell_where_pages_wait_much_too_long(before: float, now: float, is_so: bool) -> None:
    assert fell(Price(before), Price(now)) is is_so


def test_page_that_was_put_off_comes_back_within_its_new_interval() -> None:
    interval = timedelta(days=interval_days(page(), USUAL))
    long_ago = AT - 20 * DAY

    def at(due_at: datetime, spread: float, last_visit_at: datetime = long_ago, of: Watched = PAGE) -> datetime | None:
        return brought_forward(of, USUAL, due_at=due_at, last_visit_at=last_visit_at, spread=spread, now=AT)

    assert at(AT + 30 * DAY, 0.0) == AT
    assert at(AT + 30 * DAY, 0.5) == AT + interval / 2
    assert at(AT + interval * 1.05, 0.5) is None
    assert at(AT - DAY, 0.5) is None
    assert at(AT + 30 * DAY, 0.0, AT - SECOND) == AT - SECOND + timedelta(days=0.01), "its shortest interval holds"
    hourly = page(least=1 / 24, most=1 / 24)
    assert at(AT + DAY / 24, 0.5, of=hourly) is None


def test_pages_that_come_back_are_spread() -> None:
    interval = timedelta(days=interval_days(page(), USUAL))
    found = [
        brought_forward(page(), USUAL, due_at=AT + 30 * DAY, last_visit_at=AT - DAY * 9, spread=number / 100, now=AT)
        for number in range(100)
    ]
    soon = [one for one in found if one is not None and one < AT + interval / 10]
    assert (len(found), len(soon)) == (100, 10)
