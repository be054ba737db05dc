"""The next visit of a page, with the reason in words: what a person asks who waits for news."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.watch.rules.revisit import Price, Watched, best_interval_days

MINUTE, HOUR = 1 / 1_440, 1 / 24
BACK_OFF_DAYS = (5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 1.0)
"""After the first failure in a row, the second, and so on; the last one from then on. A page that broke is told soon,
one that is gone costs its site a visit a day, and a recovery is found within a day."""


@dataclass(frozen=True, slots=True)
class NextVisit:
    """`because` completes "next visit in 3 h because"."""

    due_at: datetime
    because: str


def next_visit(
    page: Watched,
    price: Price,
    *,
    now: datetime,
    failures: int = 0,
    problem: str | None = None,
    rests_until: datetime | None = None,
) -> NextVisit:
    """When a page that was just visited is due again.

    After `failures` in a row, the last one by `problem`, that is soon, then later each time (`BACK_OFF_DAYS`), within
    the page's bounds. `rests_until`: what the host asked for; nothing comes before it.
    """
    if failures:
        days = page.bounds.hold(BACK_OFF_DAYS[min(failures, len(BACK_OFF_DAYS)) - 1])
        because = f"{_failed(failures)}{f': {problem}' if problem else ''}; it is tried again after {span(days)}"
    else:
        days, because = _interval(page, price)
    due_at = now + timedelta(days=days)
    if rests_until is not None and rests_until > due_at:
        return NextVisit(rests_until, "its host asked to be left alone until then")
    return NextVisit(due_at, because)


def _interval(page: Watched, price: Price) -> tuple[float, str]:
    bounds = page.bounds
    if bounds.least_days == bounds.most_days:
        return bounds.least_days, f"it is set to be visited every {span(bounds.least_days)}"
    rate = page.rate.per_day
    changes = f"it changes about {_often(rate)}"
    best = best_interval_days(rate, page.weight, price)
    if best > bounds.most_days:
        reason = (
            "and the visits that the budget has do more for other pages"
            if rate * bounds.most_days > 1
            else "which is seldom"
        )
        return bounds.most_days, f"{changes}, {reason}; its longest interval is {span(bounds.most_days)}"
    if best < bounds.least_days:
        return bounds.least_days, f"{changes}, and its shortest interval is {span(bounds.least_days)}"
    lists = f", is in {round(page.weight)} lists" if page.weight > 1 else ""
    return best, f"{changes}{lists}, and a visit every {span(best)} is its share of the budget"


def _failed(failures: int) -> str:
    return "its last visit failed" if failures == 1 else f"its last {failures} visits failed"


def _often(per_day: float) -> str:
    if per_day >= 1:
        return f"{per_day:.3g} times a day"
    return f"once in {span(1 / per_day)}"


def span(days: float) -> str:
    """A length of time for people: two digits, in the largest unit that keeps it at 2 or more."""
    seconds = days * 86_400
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
