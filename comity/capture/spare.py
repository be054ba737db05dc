"""The next capture's blank page, opened while nobody waits for it: a context of its own, used once, by one capture.

Opening one takes about half of what a small page takes to load. Nothing of a capture reaches it: it is opened when the
one before is over, and nobody has asked for anything yet.
"""

import asyncio
import logging

from comity.capture.browser import Browser
from comity.capture.cdp import Connection
from comity.capture.errors import CaptureFault
from comity.capture.tab import Tab

log = logging.getLogger(__name__)


class Spare:
    """Not for concurrent use: `prepare` between captures, `take` when one begins."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._tab: Tab | None = None
        self._opening: asyncio.Task[None] | None = None

    def prepare(self) -> None:
        """Begins to open a page, where there is none and the browser will be used again. Never raises."""
        if self._tab is None and self._opening is None and self._browser.fit:
            self._opening = asyncio.create_task(self._open(), name="spare-page")

    async def take(self, connection: Connection) -> Tab | None:
        """The page, if there is one and it lives in this browser. It is the caller's to close."""
        await self.rest()
        tab, self._tab = self._tab, None
        if tab is None:
            return None
        if tab.gone or not tab.is_of(connection):
            await tab.close()
            return None
        return tab

    async def rest(self) -> None:
        """Waits until nothing is being opened."""
        if self._opening is not None:
            await asyncio.wait({self._opening})
            self._opening = None

    async def end(self) -> None:
        """The browser has ended: so has what was being opened in it."""
        await self.rest()

    async def _open(self) -> None:
        connection = self._browser.connection
        if connection is None:
            return
        tab = Tab(self._browser, connection)
        try:
            await tab.open()
        except BaseException as error:
            await tab.close()
            if not isinstance(error, CaptureFault):
                raise
            log.warning("no page was opened ahead, another browser will be started: %s", error)
            self._browser.condemn()
        else:
            self._tab = tab
