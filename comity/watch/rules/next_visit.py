"""The next visit of a page, with the reason in words: what a person asks who waits for news."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.watch.rules.revisit import Price, Watched, best_interval_days

BACK_OFF_FACTOR = 2.0
MOST_BACK_OFF_DAYS = 7.0


@dataclass(frozen=True, slots=True)
class NextVisit:
    """`because` completes "next visit in 3 h because"."""

    due_at: datetime
    because: str


def next_visit(
    page: Watched, price: Price, *, now: datetime, failures: int = 0, rests_until: datetime | None = None
) -> NextVisit:
    """When a page that was just visited is due again.

    `failures` in a row double the interval each time, up to a week, and never beyond the page's bounds.
    `rests_until`: what the host asked for; nothing comes before it.
    """
    days, because = _interval(page, price)
    if failures:
        longest = page.bounds.hold(max(days, MOST_BACK_OFF_DAYS))
        backed_off = min(days * BACK_OFF_FACTOR ** min(failures, 20), longest)
        if backed_off > days:
            days = backed_off
            because = f"{_failed(failures)}, and each failure doubles the wait, up to {span(longest)}"
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
    return "the last visit failed" if failures == 1 else f"the last {failures} visits failed"


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
