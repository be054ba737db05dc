"""The worker: claims pages that are due, visits many at once, and tells the queue every few seconds what came of them.

A fetch begins only while the job's lease outlasts it; what cannot be renewed is dropped. One page that hangs holds one
place until its budget is over, and no other page. Told to stop, the worker has given everything back within 5 s.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from comity.contract.watch_queue import MAX_JOBS, Failed, Job, JobDone, Rehearsed, SiteVisit, Skipped
from comity.watch.errors import PageDropped, QueueUnavailable
from comity.watch.ports import Clock, Queue
from comity.watch.visiting import Visiting

BACK_OFF_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Between questions to a queue that is away."""
CALL_MS = 30_000
LAST_CALL_MS = 1_500
"""At a stop, of the 5 s that it may take."""
RENEW_TOGETHER_S = 0.02
"""Leases that are wanted longer at about the same time are renewed in one call."""
FINISH_S = 1.5
"""At a stop, a fetch under way may still come to its end."""
KEEP_EVERY_S = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """`concurrency`: pages at once, most of them waiting for their hosts."""

    concurrency: int = 64
    lease_ms: int = 120_000
    report_every_ms: int = 2_000
    job_budget_ms: int = 300_000
    """One job with all its waits; a job that takes longer is a failure."""
    dry_run: bool = False
    rehearsal_ms: int = 1_000
    """How long a rehearsed page takes."""


@dataclass(slots=True)
class Tally:
    """What a worker did. `outcomes` by the queue's word for them; `busy_s` sums up how long each place was taken."""

    claimed: int = 0
    returned: int = 0
    dropped: int = 0
    stale: int = 0
    busy_s: float = 0.0
    outcomes: "Counter[str]" = field(default_factory=Counter)


@dataclass(slots=True, eq=False)
class Held:
    """A job and its lease, by our own clock: counted from before the call that gave it, so never too long."""

    job: Job
    expires_s: float
    claimed_s: float
    keeper: "Worker"
    visits: list[SiteVisit] = field(default_factory=list)
    asked: bool = False
    lost: bool = False

    def since_claim_ms(self) -> int:
        return int((Clock.now_s() - self.claimed_s) * 1000)

    async def outlast(self, needs_ms: int) -> None:
        if not self.lost and self.expires_s - Clock.now_s() < needs_ms / 1000:
            await self.keeper.renew_soon(self, needs_ms)
        if self.lost or self.expires_s - Clock.now_s() < needs_ms / 1000:
            raise PageDropped(f"the lease of {self.job.page_id} was lost")

    async def rest(self, until_ms: int) -> None:
        # A millisecond more: rounded down, it would be a gap too short.
        left_ms = until_ms + 1 - (Clock.now_s() - self.claimed_s) * 1000
        if left_ms > 0:
            await asyncio.sleep(left_ms / 1000)


class Worker:
    """`await worker.run(stop)` until `stop` is set. Raises WorkerHalted where the queue says that it cannot go on."""

    def __init__(self, queue: Queue, visiting: Visiting, settings: WorkerSettings) -> None:
        self._queue = queue
        self._visiting = visiting
        self._settings = settings
        self._jobs: dict[Held, asyncio.Task[None]] = {}
        self._reports: list[JobDone] = []
        self._given_back: list[str] = []
        self._stopping = False
        self._wanting: list[tuple[Held, int]] = []
        self._renewing: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self.tally = Tally()

    async def run(self, stop: asyncio.Event) -> None:
        loops = [asyncio.create_task(one) for one in (self._claim_on(), self._report_on(), self._keep_on())]
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([stopped, *loops], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            await self._stop(loops)
        for one in loops:
            if one.done() and not one.cancelled() and (error := one.exception()) is not None:
                raise error

    # --- claiming

    async def _claim_on(self) -> None:
        failures = 0
        while not self._stopping:
            free = self._settings.concurrency - len(self._jobs)
            if free < max(1, self._settings.concurrency // 8) or len(self._reports) > 2 * self._settings.concurrency:
                self._room.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._room.wait(), 1.0)
                continue
            try:
                wait_s = await self._claim(min(free, MAX_JOBS))
                failures = 0
            except QueueUnavailable as error:
                wait_s = BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)]
                failures += 1
                _log.warning("no pages could be claimed, asked again in %g s: %s", wait_s, error)
            if wait_s > 0 and not self._stopping:
                await asyncio.sleep(wait_s)

    async def _claim(self, most: int) -> float:
        """How long to wait before the next claim."""
        began_s = Clock.now_s()
        claimed = await self._queue.claim(most=most, lease_ms=self._settings.lease_ms, dry_run=self._settings.dry_run)
        answered_s = Clock.now_s()
        self.tally.claimed += len(claimed.jobs)
        for job in claimed.jobs:
            if self._stopping:
                self._given_back.append(job.token)
                continue
            held = Held(job, began_s + job.expires_in_ms / 1000, answered_s, self)
            self._jobs[held] = asyncio.create_task(self._do(held), name=f"page {job.page_id}")
        return 0.0 if len(claimed.jobs) >= most else claimed.ask_again_ms / 1000

    # --- one page

    async def _do(self, held: Held) -> None:
        began_s = Clock.now_s()
        try:
            await self._work(held)
        finally:
            self.tally.busy_s += Clock.now_s() - began_s
            del self._jobs[held]
            self._room.set()

    async def _work(self, held: Held) -> None:
        try:
            async with asyncio.timeout(self._settings.job_budget_ms / 1000 + held.job.wait_ms / 1000):
                done = await self._rehearse(held) if held.job.dry_run else await self._visiting.visit(held)
        except PageDropped as error:
            self.tally.dropped += 1
            _log.info("%s", error)
            self._leave(held, "the lease was lost")
        except QueueUnavailable as error:
            self._leave(held, f"the ledger was away: {error}")
        except TimeoutError:
            self._reports.append(_failure(held, "E_JOB_BUDGET", f"not done in {self._settings.job_budget_ms} ms"))
        except asyncio.CancelledError:
            self._leave(held, "the worker was stopped during the visit")
            raise
        except Exception as error:  # one page must not end the others
            _log.exception("page %s, %s", held.job.page_id, held.job.url)
            self._reports.append(_failure(held, "E_INTERNAL", f"unexpected {type(error).__name__} in the worker"))
        else:
            self._reports.append(done)

    async def _rehearse(self, held: Held) -> JobDone:
        await held.rest(held.job.wait_ms)
        await asyncio.sleep(self._settings.rehearsal_ms / 1000)
        return Rehearsed(token=held.job.token, outcome="rehearsed")

    def _leave(self, held: Held, reason: str) -> None:
        """Given back as if nothing had been, where nothing had been; else the site's rest begins now."""
        if held.asked:
            self._reports.append(Skipped(token=held.job.token, outcome="skipped", reason=reason, visits=held.visits))
        elif not held.lost:
            self._given_back.append(held.job.token)

    # --- telling

    async def _report_on(self) -> None:
        while True:
            await asyncio.sleep(self._settings.report_every_ms / 1000)
            try:
                await self._report()
            except QueueUnavailable as error:
                _log.warning("%d reports wait for the ledger: %s", len(self._reports), error)

    async def _report(self) -> None:
        while reports := self._reports[:MAX_JOBS]:
            said = await self._queue.complete(reports)
            del self._reports[: len(reports)]
            self._room.set()
            for report, answer in zip(reports, said, strict=True):
                self.tally.outcomes[answer.outcome or report.outcome] += 1
                self.tally.stale += not answer.accepted
        if tokens := self._given_back[:]:
            timeout_ms = LAST_CALL_MS if self._stopping else CALL_MS
            await self._queue.give_back(tokens, timeout_ms=timeout_ms)
            del self._given_back[: len(tokens)]
            self.tally.returned += len(tokens)

    # --- leases

    async def renew_soon(self, held: Held, needs_ms: int) -> None:
        """More time for one, together with whoever else asks in the same moment."""
        self._wanting.append((held, needs_ms))
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew_wanting())
        await asyncio.shield(self._renewing)

    async def _renew_wanting(self) -> None:
        while self._wanting:
            await asyncio.sleep(RENEW_TOGETHER_S)
            wanting, self._wanting = self._wanting[:MAX_JOBS], self._wanting[MAX_JOBS:]
            await self.renew([held for held, _ in wanting], max(needs_ms for _, needs_ms in wanting))

    async def renew(self, held: Sequence[Held], needs_ms: int) -> None:
        """More time for these; those that get none are lost. A queue that is away loses nobody, and helps nobody."""
        began_s = Clock.now_s()
        lease_ms = max(self._settings.lease_ms, needs_ms)
        try:
            said = await self._queue.renew([one.job.token for one in held], lease_ms=lease_ms)
        except QueueUnavailable as error:
            _log.warning("%d leases could not be renewed: %s", len(held), error)
            return
        for one, answer in zip(held, said, strict=True):
            if answer.expires_in_ms is None:
                one.lost = True
            else:
                one.expires_s = max(one.expires_s, began_s + answer.expires_in_ms / 1000)

    async def _keep_on(self) -> None:
        """Jobs that wait for their hosts keep their leases; those that have lost them are dropped."""
        while True:
            await asyncio.sleep(KEEP_EVERY_S)
            soon_s = Clock.now_s() + self._settings.lease_ms / 2000
            waiting = [one for one in self._jobs if one.expires_s < soon_s and not one.lost]
            for first in range(0, len(waiting), MAX_JOBS):
                await self.renew(waiting[first : first + MAX_JOBS], 0)

    # --- the end

    async def _stop(self, loops: Sequence["asyncio.Task[None]"]) -> None:
        self._stopping = True
        claiming, *others = loops
        for one in others:
            one.cancel()
        for held, task in list(self._jobs.items()):
            if not held.asked:
                task.cancel()
        await asyncio.wait([claiming, *self._jobs.values()], timeout=FINISH_S)
        left = [claiming, *self._jobs.values()]
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=1.0)
        for held, task in self._jobs.items():
            if task.done():  # cancelled before it had begun: nothing of it ran
                self._leave(held, "")
        try:
            await asyncio.wait_for(self._report(), 2 * LAST_CALL_MS / 1000)
        except (QueueUnavailable, TimeoutError) as error:
            _log.warning("not all could be given back, the leases end by themselves: %s", error or "no answer in time")


def _failure(held: Held, code: str, reason: str) -> Failed:
    return Failed(token=held.job.token, outcome="failed", code=code, reason=reason, visits=held.visits)
