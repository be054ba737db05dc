"""Give an attempt at a level its flow run: always after the commit that opened it.

What is lost in between, reconcile finds.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from ledger import log
from ledger.clock import Clock
from ledger.rules import resume
from ledger.services.end_attempt import end_attempt, hosts_in_flight
from ledger.services.prefect_api import PrefectApi, PrefectAway, PrefectRefused
from ledger.store import crawls, flow_runs, levels, pages
from ledger.store.database import Store
from ledger.store.models import Crawl

MAX_HOST_TAGS = 5
"""Tags help to find a run in the UI; a level can have thousands of hosts."""


@dataclass(frozen=True)
class _Order:
    """An attempt that waits for a run. `earlier` are the runs of the attempt before it, last heard at `heard_at`."""

    crawl_id: str
    depth: int
    attempt: int
    hosts: tuple[str, ...]
    earlier: tuple[str, ...]
    heard_at: datetime | None

    @property
    def key(self) -> str:
        return f"{self.crawl_id}:{self.depth}:{self.attempt}"

    @property
    def name(self) -> str:
        """What heads the run's page in the Prefect UI."""
        return f"{self.crawl_id} level {self.depth}" + (f", attempt {self.attempt}" if self.attempt > 1 else "")

    def is_current(self, crawl: Crawl) -> bool:
        """Whether the crawl still waits for this very run."""
        return crawl.state == "running" and (crawl.depth, crawl.attempt) == (self.depth, self.attempt)


class Dispatcher:
    """Dispatches levels and cancels runs, best effort, on the event loop."""

    def __init__(self, store: Store, prefect: PrefectApi, clock: Clock) -> None:
        self._store = store
        self._prefect = prefect
        self._clock = clock

    async def dispatch(self, crawl_id: str) -> None:
        """Create the flow run of the crawl's current attempt, if it has none. The same one always gets the same run.

        The run of the attempt before is stopped first; while it may be at work, nothing is created, and the next pass
        of the reconciler asks again. A Prefect that is away leaves the level as it is, with the trouble noted; a
        refusal for good ends the crawl.
        """
        order = await asyncio.to_thread(self._waiting, crawl_id)
        if order is None:
            return
        try:
            if not await self._earlier_is_over(order):
                return
            if order.heard_at is not None:
                await asyncio.to_thread(self._touch_hosts, order)
            run_id = await self._prefect.create_run(
                name=order.name,
                parameters={"crawl_id": order.crawl_id, "depth": order.depth, "attempt": order.attempt},
                idempotency_key=order.key,
                tags=[
                    f"crawl:{order.crawl_id}",
                    f"depth:{order.depth}",
                    *(f"host:{host}" for host in order.hosts[:MAX_HOST_TAGS]),
                ],
            )
        except PrefectAway as trouble:
            log.warning("dispatch_postponed", crawl_id=crawl_id, depth=order.depth, why=str(trouble))
            await asyncio.to_thread(self._note_trouble, order, str(trouble))
        except PrefectRefused as refusal:
            await asyncio.to_thread(self._give_up, order, str(refusal))
        else:
            if not await asyncio.to_thread(self._note_run, order, run_id):
                await self.stop_run(run_id)

    async def _earlier_is_over(self, order: _Order) -> bool:
        """Whether the attempt may begin; where the one before is not over in Prefect, it is asked to end."""
        states: list[str | None] = []
        for run_id in order.earlier:
            seen = await self._prefect.run_state(run_id)
            if seen is not None and seen.type not in (*resume.OVER, "CANCELLING"):
                await self._prefect.cancel_run(run_id)
                log.event("run_cancel_asked", run_id=run_id, crawl_id=order.crawl_id, depth=order.depth)
                seen = await self._prefect.run_state(run_id)
            states.append(seen.type if seen is not None else None)
        may = resume.may_begin(states, heard_at=order.heard_at, now=self._clock())
        if not may:
            log.event("attempt_waits", crawl_id=order.crawl_id, depth=order.depth, attempt=order.attempt,
                      why="the run before it is asked to end")  # fmt: skip
        return may

    async def stop_run(self, run_id: str) -> None:
        """Cancel a flow run in Prefect, best effort: the run's next report is answered `stop` anyway."""
        try:
            await self._prefect.cancel_run(run_id)
        except PrefectAway as trouble:
            log.warning("run_not_cancelled", run_id=run_id, why=str(trouble))
        else:
            log.event("run_cancel_asked", run_id=run_id)

    def _waiting(self, crawl_id: str) -> _Order | None:
        with self._store.reading() as tx:
            crawl = crawls.get(tx, crawl_id)
            if crawl is None or crawl.state != "running":
                return None
            level = levels.current(tx, crawl)
            if level.flow_run_id is not None or level.run_id is not None:
                return None
            hosts = sorted(pages.pending_hosts(tx, crawl_id, crawl.depth))
            earlier, heard_at = levels.last_runs(tx, level)
            return _Order(crawl_id, crawl.depth, crawl.attempt, tuple(hosts), tuple(earlier), heard_at)

    def _touch_hosts(self, order: _Order) -> None:
        """The run before may have been at its pages until now, when it is over."""
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, order.crawl_id)
            if crawl is not None and order.is_current(crawl):
                pages.touch_hosts(tx, hosts_in_flight(tx, crawl), at=self._clock())

    def _note_run(self, order: _Order, run_id: str) -> bool:
        """Write down the level's run. False where the crawl was ended while we asked, so that the run must be stopped.

        A level that was closed meanwhile, fast, is fine: its run is ending by itself.
        """
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, order.crawl_id)
            if crawl is None or not order.is_current(crawl):
                return crawl is not None and levels.closing(tx, order.crawl_id, order.depth) is not None
            flow_runs.dispatched(tx, levels.current(tx, crawl), flow_run_id=run_id, at=self._clock())
        log.event("level_dispatched", crawl_id=order.crawl_id, depth=order.depth, attempt=order.attempt, run_id=run_id)
        return True

    def _note_trouble(self, order: _Order, trouble: str) -> None:
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, order.crawl_id)
            if crawl is not None and order.is_current(crawl):
                flow_runs.dispatch_failed(tx, levels.current(tx, crawl), trouble=trouble)

    def _give_up(self, order: _Order, refusal: str) -> None:
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, order.crawl_id)
            if crawl is not None and order.is_current(crawl):
                level = levels.current(tx, crawl)
                end_attempt(tx, crawl, level, how="failed", reason=f"[dispatch] {refusal}", at=self._clock())
