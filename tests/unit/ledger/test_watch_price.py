"""A new price is fitted daily, or when it is another lot of pages, and learns from the visits that the old one made."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger.rules.watch_price import LastFit, is_due, made_a_day

AT = datetime(2026, 3, 1, tzinfo=UTC)
LAST = LastFit(at=AT, pages=100, visit_id=1000)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("last", "pages", "age", "due"),
    [
        (None, 0, DAY, False),
        (None, 1, DAY, True),
        (LAST, 0, DAY, False),
        (LAST, 100, DAY - SECOND, False),
        (LAST, 100, DAY, True),
        (LAST, 150, SECOND, False),
        (LAST, 151, SECOND, True),
        (LAST, 67, SECOND, False),
        (LAST, 66, SECOND, True),
        (LAST, 100, -DAY, False),
    ],
)
def test_fit_is_due_daily_and_when_pages_are_many_more_or_fewer(
    last: LastFit | None, pages: int, age: timedelta, due: bool
) -> None:
    assert is_due(last, pages=pages, now=AT + age) is due


@pytest.mark.parametrize(
    ("last", "newest", "age", "made"),
    [
        (None, 1000, DAY, None),
        (LAST, 1500, DAY / 4 - SECOND, None),
        (LAST, 1500, DAY / 4, 2000),
        (LAST, 1500, DAY, 500),
        (LAST, 1500, DAY * 2, 250),
        (LAST, 1000, DAY, 0),
        (LAST, 0, DAY, 0),
        (LAST, 1500, -DAY, None),
    ],
)
def test_visits_a_day_are_those_since_the_last_fit(
    last: LastFit | None, newest: int, age: timedelta, made: float | None
) -> None:
    assert made_a_day(last, newest_visit=newest, now=AT + age) == made
