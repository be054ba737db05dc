"""How long a manifest that was not there is looked for, and how often."""

from datetime import datetime, timedelta

LONGEST_WAIT_S = 3600.0


def next_look(*, marked_at: datetime, now: datetime, every_s: float) -> datetime:
    """When to look again: at first often, then ever more seldom, for what was late a minute is seldom late a day."""
    age_s = (now - marked_at).total_seconds()
    return now + timedelta(seconds=min(LONGEST_WAIT_S, max(every_s, age_s / 2)))


def given_up(*, marked_at: datetime, now: datetime, limit_s: float) -> bool:
    """Whether it has been looked for long enough to say that it never came."""
    return (now - marked_at).total_seconds() >= limit_s
