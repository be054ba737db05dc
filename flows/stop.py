"""One signal that ends every wait of a level."""

import threading
import time

from flows.errors import Stopped


class StopSignal:
    """Set once, seen by all threads of a level within a moment.

    There are two grades. After a failure elsewhere a capture in flight is finished, for its page has been visited and
    the archive is worth having; on cancellation it is hung up, for nobody wants it. The first reason is kept.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self.hang_up = threading.Event()
        self.reason = ""

    def set(self, reason: str, *, hang_up: bool) -> None:
        """End all waits; with `hang_up` also the captures in flight."""
        if not self._stopping.is_set():
            self.reason = reason
        self._stopping.set()
        if hang_up:
            self.hang_up.set()

    @property
    def is_set(self) -> bool:
        """The level is to end."""
        return self._stopping.is_set()

    @property
    def cancelled(self) -> bool:
        """The level is to end, and nobody wants what is in flight."""
        return self.hang_up.is_set()

    def sleep(self, wait_ms: int) -> None:
        """Wait. Raises Stopped as soon as the signal is set, and at once where it is."""
        if self._stopping.wait(wait_ms / 1000):
            raise Stopped(self.reason)

    def check(self) -> None:
        """Raise Stopped where the signal is set."""
        self.sleep(0)


class Stopwatch:
    """Milliseconds since it was started, by a clock that never jumps."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def elapsed_ms(self) -> int:
        """Whole milliseconds, rounded down: a gap that is measured too short is waited for a little longer."""
        return int((time.monotonic() - self._started) * 1000)
