"""A worker of watched pages in a thread with an event loop of its own, so that whoever waits may be interrupted."""

import asyncio
import contextvars
import threading
from collections.abc import Callable

from blocks.clients.watch import WatchClient
from comity.watch.building import Plan, built
from comity.watch.errors import WatchError
from comity.watch.ports import Readers
from comity.watch.worker import Tally
from flows.watch_queue import LedgerQueue
from flows.watch_readers import CatalogueReaders

STOP_BUDGET_S = 5.0


class WatchRun:
    """`start()`, then `wait()` until it is over or `stop()` was called. `error` says why it ended by itself."""

    def __init__(self, plan: Plan, client: WatchClient, *, readers: Readers | None = None) -> None:
        self._plan = plan
        self._client = client
        self._readers = readers
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        # With the caller's context, or the log lines of a flow run would not find it.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._work,), name="watch", daemon=True
        )
        self.tally = Tally()
        self.error: Exception | None = None

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def wait(self, slice_s: float) -> bool:
        """Whether it is over, after so long at most."""
        self._thread.join(slice_s)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Everything goes back to the queue; `wait()` a few seconds for it. A repeat does nothing."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self._loop = runner.get_loop()
                runner.run(self._worked())
        except Exception as error:  # told by whoever waits
            self.error = error
        finally:
            self._ready.set()

    async def _worked(self) -> None:
        queue = LedgerQueue(self._client, self._plan.name)
        try:
            async with built(self._plan, queue, readers=self._readers or CatalogueReaders(self._client)) as worker:
                self.tally = worker.tally
                self._ready.set()
                await worker.run(self._stop)
        finally:
            queue.close()


def end_of(run: WatchRun) -> str:
    """What it did, in a line. Raises what ended it."""
    if run.error is not None:
        raise run.error if isinstance(run.error, WatchError) else RuntimeError(f"the worker failed: {run.error!r}")
    done = ", ".join(f"{count} {outcome}" for outcome, count in sorted(run.tally.outcomes.items())) or "no page visited"
    return f"{done}; {run.tally.returned} given back, {run.tally.dropped} dropped"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop's where it can be had."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
