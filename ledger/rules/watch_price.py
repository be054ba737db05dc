"""When a new price of a visit is fitted, how many visits the old one made, and who comes back sooner by the new one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.watch.rules.revisit import Price, Watched, counted_a_day, demanded_a_day, interval_days

FIT_EVERY = timedelta(days=1)
GROWN = 1.25
"""So many times the pages or the budget, or a part of them as small, and the old price is nobody's: a new one is fitted
at once."""
LEAST_DAYS = 0.25
"""Visits of a shorter time say little about a day's."""
FELL = 1.5
"""A price that fell by less leaves pages where they are: their next visit is not much too late."""
MUCH_LATER = 1.1
"""Pages wait up to 1.05 intervals by themselves."""
DAY = timedelta(days=1)


@dataclass(frozen=True)
class LastFit:
    """When, over how many pages without a fixed interval, for which budget, and the newest visit of that moment."""

    at: datetime
    pages: int
    visits_a_day: float
    visit_id: int


def is_due(last: LastFit | None, *, pages: int, visits_a_day: float, now: datetime) -> bool:
    """Whether it is time for a fit: the last one is a day old, or of another number of pages or another budget.

    `pages` are those without a fixed interval; without any, never.
    """
    if pages == 0 or last is None:
        return pages > 0
    other = _differ(pages, last.pages) or _differ(visits_a_day, last.visits_a_day)
    return now - last.at >= FIT_EVERY or other


def made_a_day(
    last: LastFit | None, pages: Iterable[tuple[Watched, int]], *, price: Price, share: float, now: datetime
) -> float | None:
    """What the visits of `pages` since the last fit count a day against the budget, of which each page's even part is
    `share`; None where that fit is too short ago to say, or there was none.

    Pages that are visited mostly for their longest interval count as planned by `price`: the little that is missing of
    1,440 visits a day says nothing about the others.
    """
    if last is None or (days := (now - last.at) / DAY) < LEAST_DAYS:
        return None
    made = 0.0
    for page, visits in pages:
        if demanded_a_day(page.bounds, share) > 0:
            made += counted_a_day(1 / interval_days(page, price), page.bounds, share)
        else:
            made += visits / days
    return made


def fell(before: Price, now: Price) -> bool:
    """Whether visits became so much cheaper that pages wait too long by the old price."""
    return before.days > now.days * FELL


def brought_forward(
    page: Watched, price: Price, *, due_at: datetime, last_visit_at: datetime, spread: float, now: datetime
) -> datetime | None:
    """When a page is due by a new price that waits too long by the old one; None where it does not.

    Such pages come at a random time (`spread` below 1) of their new interval, so that in all no more of them come at
    once than the budget has; never sooner after the last visit than the page's shortest interval.
    """
    interval = timedelta(days=interval_days(page, price))
    if due_at <= now + interval * MUCH_LATER:
        return None
    return max(now + interval * spread, last_visit_at + timedelta(days=page.bounds.least_days))


def _differ(one: float, other: float) -> bool:
    return one > other * GROWN or one * GROWN < other
