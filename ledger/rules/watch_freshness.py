"""How fresh a list is: what its pages say together."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from comity.contract.watch import Freshness

PageFacts = tuple[bool, datetime | None, datetime | None, bool]
"""Paused, due at, last success, whether its last visit failed."""
HOUR, DAY, MILLISECOND = timedelta(hours=1), timedelta(days=1), timedelta(milliseconds=1)


def freshness(pages: Iterable[PageFacts], *, now: datetime) -> Freshness:
    """Paused pages count as pages, and for nothing else. Ages below zero, of a clock that was set back, are none."""
    total = paused = never = late = failing = 0
    oldest_late_ms: int | None = None
    ages: list[timedelta] = []
    for is_paused, due_at, success_at, is_failing in pages:
        total += 1
        if is_paused:
            paused += 1
            continue
        failing += is_failing
        if success_at is None:
            never += 1
        else:
            ages.append(max(timedelta(0), now - success_at))
        if due_at is not None and due_at < now:
            late += 1
            oldest_late_ms = max(oldest_late_ms or 0, (now - due_at) // MILLISECOND)
    return Freshness(
        pages=total,
        paused=paused,
        never=never,
        late=late,
        failing=failing,
        visited_within_hour=sum(age <= HOUR for age in ages),
        visited_within_day=sum(age <= DAY for age in ages),
        mean_age_ms=sum(ages, timedelta(0)) // len(ages) // MILLISECOND if ages else None,
        oldest_age_ms=max(ages) // MILLISECOND if ages else None,
        oldest_late_ms=oldest_late_ms,
    )
