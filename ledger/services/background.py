"""What happens after a commit: asked for by request threads, done on the event loop, awaited by nobody.

Losing it costs nothing but time: the reconciler finds every level that has no run.
"""

import asyncio
from collections.abc import Awaitable, Callable

from ledger import log

Work = Callable[[str], Awaitable[None]]


class Background:
    """`dispatch(crawl_id)`, `extract(crawl_id)` and `stop_run(run_id)`, callable from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._dispatch: Work | None = None
        self._stop_run: Work | None = None
        self._extract: Work | None = None

    def begin(self, *, dispatch: Work, stop_run: Work, extract: Work) -> None:
        """From now on work is done, on the running loop."""
        self._loop = asyncio.get_running_loop()
        self._dispatch, self._stop_run, self._extract = dispatch, stop_run, extract

    async def end(self) -> None:
        """Drop what is left and take no more."""
        self._loop = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def dispatch(self, crawl_id: str) -> None:
        """The crawl has a level that waits for a run."""
        self._ask(self._dispatch, crawl_id)

    def extract(self, crawl_id: str) -> None:
        """The crawl has an extraction that waits for a run."""
        self._ask(self._extract, crawl_id)

    def stop_run(self, run_id: str | None) -> None:
        """A run is not needed any more."""
        if run_id is not None:
            self._ask(self._stop_run, run_id)

    def _ask(self, work: Work | None, ident: str) -> None:
        loop = self._loop
        if loop is None or work is None or loop.is_closed():
            return
        loop.call_soon_threadsafe(self._spawn, work, ident)

    def _spawn(self, work: Work, ident: str) -> None:
        task = asyncio.ensure_future(_guarded(work, ident))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _guarded(work: Work, ident: str) -> None:
    try:
        await work(ident)
    except Exception as error:
        log.failure("background_work_failed", error, about=ident)
