"""How many workers a day needs, from a rehearsal of one."""

import math
from dataclasses import dataclass

MINUTES_A_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What one worker did. `busy_s` sums up how long each of its `places` was taken."""

    pages: int
    elapsed_s: float
    busy_s: float
    places: int


@dataclass(frozen=True, slots=True)
class Sizing:
    """`pages_a_minute` as it was, `full_pages_a_minute` with all places taken all the time: what this worker can do.

    `workers` is None where nobody knows how many visits a day has.
    """

    pages_a_minute: float
    taken_share: float
    full_pages_a_minute: float
    workers: int | None


def sizing(seen: Rehearsed, visits_a_day: float | None) -> Sizing:
    """Raises ValueError where no page was rehearsed: nothing can be told from that."""
    if seen.pages < 1 or seen.elapsed_s <= 0 or seen.busy_s <= 0:
        raise ValueError("no page was rehearsed")
    full = 60 * seen.places * seen.pages / seen.busy_s
    workers = None if visits_a_day is None else max(1, math.ceil(visits_a_day / (full * MINUTES_A_DAY)))
    return Sizing(
        pages_a_minute=60 * seen.pages / seen.elapsed_s,
        taken_share=min(1.0, seen.busy_s / (seen.elapsed_s * seen.places)),
        full_pages_a_minute=full,
        workers=workers,
    )
