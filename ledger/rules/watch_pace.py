"""How many visits may begin in a second, all workers together.

After an outage everything is late at once. Hosts are protected by their gaps, but workers, the network and the machines
behind many host names are not: so visits begin at a pace, and what was missed is made up for little by little.
"""

from dataclasses import dataclass
from datetime import datetime

BURST_S = 2.0
"""Allowances of so many seconds can be saved up."""
LEAST_BURST = 1.0


@dataclass(frozen=True)
class Pace:
    """Visits that may begin, as of then."""

    left: float
    at: datetime


@dataclass(frozen=True)
class Allowed:
    """`count` visits may begin now; `again_ms` until another one may, 0 where more may at once."""

    count: int
    pace: Pace
    again_ms: int


def take(pace: Pace, wanted: int, *, a_second: float, now: datetime) -> Allowed:
    """So many of the visits that are wanted may begin. A clock that was set back refills nothing."""
    passed_s = max(0.0, (now - pace.at).total_seconds())
    full = max(a_second * BURST_S, LEAST_BURST)
    left = min(full, pace.left + passed_s * a_second)
    count = min(wanted, int(left))
    left -= count
    again_ms = 0 if left >= 1 else round((1 - left) / a_second * 1000)
    return Allowed(count, Pace(left, now), again_ms)
