"""The clock that a run tells its times by: the machine's at its start, and from then on never set."""

import time
from datetime import UTC, datetime, timedelta


def steady_s() -> float:
    """Seconds that only ever grow, while the machine sleeps too: a lease elsewhere does not wait for a lid to open."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class RunClock:
    """Wall time without jumps, so that the gap between two times of a run is the gap that there was."""

    def __init__(self) -> None:
        self._wall = datetime.now(UTC)
        self._steady_s = steady_s()

    def __call__(self) -> datetime:
        """Now, aware, UTC."""
        return self._wall + timedelta(seconds=steady_s() - self._steady_s)


run_clock = RunClock()
"""This process's."""
