"""When a new price of a visit is fitted, and how many visits the old one made."""

from dataclasses import dataclass
from datetime import datetime, timedelta

FIT_EVERY = timedelta(days=1)
GROWN = 1.5
"""So many times the pages, or a part of them as small, and the old price is nobody's: a new one is fitted at once."""
LEAST_DAYS = 0.25
"""Visits of a shorter time say little about a day's."""
DAY = timedelta(days=1)


@dataclass(frozen=True)
class LastFit:
    """When, over how many pages, and the newest visit of that moment: their numbers count the visits since."""

    at: datetime
    pages: int
    visit_id: int


def is_due(last: LastFit | None, *, pages: int, now: datetime) -> bool:
    """Whether it is time for a fit: the last one is a day old, or of another number of pages. Without pages, never."""
    if pages == 0 or last is None:
        return pages > 0
    grown = pages > last.pages * GROWN or pages * GROWN < last.pages
    return now - last.at >= FIT_EVERY or grown


def made_a_day(last: LastFit | None, *, newest_visit: int, now: datetime) -> float | None:
    """Visits a day since the last fit; None where that is too short ago to say, or there was none."""
    if last is None or (days := (now - last.at) / DAY) < LEAST_DAYS:
        return None
    return max(0, newest_visit - last.visit_id) / days
