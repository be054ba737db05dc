"""When what a page has fetched is written: after the page has loaded, or so soon that it does not matter.

A page that loads needs the processors for itself. Taking bodies out of the browser and packing them slows a page from a
site near by to one and a half times its time; a moment later, while the page comes to rest, it costs nobody anything.
"""

import asyncio

WAIT_S = 0.5
"""From the page's beginning to load. One that takes longer waits for its network, and leaves the processors idle."""
WAITING_BYTES = 16 * 1024 * 1024
"""What the browser may have to keep for it."""


class Turn:
    """Open at first. Bodies `come` through when it is open."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._waiting_bytes = 0
        self._later: asyncio.TimerHandle | None = None

    def give_way(self) -> None:
        """A page begins to load."""
        self.catch_up()
        self._open.clear()
        self._waiting_bytes = 0
        self._later = asyncio.get_running_loop().call_later(WAIT_S, self.catch_up)

    def catch_up(self) -> None:
        """It has loaded, or has had its time."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._open.set()

    async def come(self, size_bytes: int) -> None:
        """Returns when a body of this size may be taken."""
        self._waiting_bytes += size_bytes
        if self._waiting_bytes > WAITING_BYTES:
            self.catch_up()
        await self._open.wait()
