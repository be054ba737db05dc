"""See that no extraction stands still: hand its runs to Prefect, ask how they fare, and open what is missing.

The same deadlines and the same verdicts as for levels; what follows is less: the run is tried again, a few times, and
nothing of the crawl changes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.ledger import AttemptEnd
from ledger import log, metrics
from ledger.clock import Clock
from ledger.errors import LedgerRefusal
from ledger.rules import liveness
from ledger.rules.liveness import LevelFacts, Limits, Verdict
from ledger.services.extraction_runs import end_run, open_run
from ledger.services.prefect_api import PrefectApi, PrefectAway, PrefectRefused
from ledger.services.reconcile import ASLEEP_AFTER_PASSES
from ledger.store import crawls, flow_runs
from ledger.store import extraction_runs as runs
from ledger.store.database import Store, Tx
from ledger.store.models_extraction import ExtractionRun

TURN = "extractions"
CRAWLS_PER_PASS = 100


@dataclass(frozen=True)
class _Watched:
    """A run that has not ended; `runs` are the flow runs known for it, the one that took it first."""

    crawl_id: str
    number: int
    runs: tuple[str, ...]
    facts: LevelFacts

    @property
    def key(self) -> str:
        return f"extract:{self.crawl_id}:{self.number}"


class ExtractionReconciler:
    """A pass at start and every `every_s`. `prefect` creates runs of the deployment that extracts."""

    def __init__(self, *, store: Store, prefect: PrefectApi, limits: Limits, clock: Clock, every_s: float) -> None:
        self._store = store
        self._prefect = prefect
        self._limits = limits
        self._clock = clock
        self._every_s = every_s
        self._listening_since = clock()
        self._last_pass_at = self._listening_since

    async def run(self) -> None:
        """Pass after pass until cancelled. A pass that breaks is logged, and the next one tries again."""
        while True:
            try:
                await self.one_pass()
            except LedgerRefusal as refusal:
                log.warning("extractions_postponed", why=str(refusal))
            except Exception as error:
                log.failure("extractions_pass_failed", error)
            await asyncio.sleep(self._every_s)

    async def close(self) -> None:
        """Give the connections back."""
        await self._prefect.close()

    async def one_pass(self) -> None:
        """Open what is missing, then look at every run once."""
        now = self._clock()
        asleep = now - self._last_pass_at > timedelta(seconds=ASLEEP_AFTER_PASSES * self._every_s)
        if asleep or now < self._last_pass_at:
            self._listening_since = now
        self._last_pass_at = now
        for one in await asyncio.to_thread(self._look):
            await self._guarded(one)

    async def dispatch(self, crawl_id: str) -> None:
        """Give the crawl's open run its flow run, if it has none: the same run always gets the same one."""
        one = await asyncio.to_thread(self._undispatched, crawl_id)
        if one is None:
            return
        try:
            flow_run_id = await self._prefect.create_run(
                name=f"{one.crawl_id} extraction {one.number}",
                parameters={"crawl_id": one.crawl_id, "number": one.number},
                idempotency_key=one.key,
                tags=[f"crawl:{one.crawl_id}", "extraction"],
            )
        except PrefectAway as trouble:
            said = str(trouble)
            log.warning("extraction_postponed", crawl_id=crawl_id, why=said)
            await self._change(one, lambda tx, run: flow_runs.dispatch_failed(tx, run, trouble=said))
        except PrefectRefused as refusal:
            await self._end(one, "failed", f"[dispatch] {refusal}")
        else:
            at = self._clock()
            if await self._change(one, lambda tx, run: flow_runs.dispatched(tx, run, flow_run_id=flow_run_id, at=at)):
                log.event("extraction_dispatched", crawl_id=crawl_id, number=one.number, run_id=flow_run_id)

    def ask_again(self, crawl_id: str) -> bool:
        """Somebody wants what waits to be tried once more, however runs ended before. True where a run was opened."""
        with self._store.writing() as tx:
            if crawls.get_to_change(tx, crawl_id) is None:
                return False
            runs.allow_more(tx, crawl_id)
            return open_run(tx, crawl_id, at=self._clock())

    def _look(self) -> list[_Watched]:
        """Every run that has not ended, those among them that were opened just now. None on another ledger's turn."""
        with self._store.exclusively(TURN) as alone:
            if not alone:
                return []
            with self._store.reading() as tx:
                waiting = runs.waiting_crawls(tx, CRAWLS_PER_PASS)
            for crawl_id in waiting:
                with self._store.writing() as tx:
                    if crawls.get_to_change(tx, crawl_id) is not None:
                        open_run(tx, crawl_id, at=self._clock())
            with self._store.reading() as tx:
                return [_watched(run) for run in runs.every_open(tx)]

    def _undispatched(self, crawl_id: str) -> _Watched | None:
        with self._store.reading() as tx:
            run = runs.current(tx, crawl_id)
            return _watched(run) if run is not None and run.flow_run_id is None and run.run_id is None else None

    async def _guarded(self, one: _Watched) -> None:
        try:
            await self._act(one, await self._judge(one))
        except Exception as error:
            log.failure("extraction_not_judged", error, crawl_id=one.crawl_id)

    async def _judge(self, one: _Watched) -> Verdict:
        now, since = self._clock(), self._listening_since
        verdict = liveness.by_ear(one.facts, self._limits, now=now, listening_since=since)
        if verdict.kind != "over":
            if not one.runs:
                verdict = liveness.before_dispatch(one.facts, self._limits, now=now, listening_since=since)
            else:
                seen = await self._seen(one, one.runs[0])
                verdict = liveness.by_prefect(one.facts, seen, self._limits, now=self._clock(), listening_since=since)
        metrics.verdict(f"extraction: {verdict.kind}")
        return verdict

    async def _seen(self, one: _Watched, run_id: str) -> liveness.Seen:
        try:
            found = await self._prefect.run_state(run_id)
        except PrefectAway as trouble:
            return liveness.PrefectSilent(str(trouble))
        if found is None:
            return liveness.RunMissing()
        at = self._clock()
        since: list[datetime] = []
        await self._change(one, lambda tx, run: since.append(flow_runs.saw_state(tx, run, state=found.type, at=at)))
        return liveness.RunSeen(found.type, since[0] if since else at, found.message)

    async def _act(self, one: _Watched, verdict: Verdict) -> None:
        if verdict.kind == "dispatch":
            if one.runs:
                await self._change(one, runs.lost)
            await self.dispatch(one.crawl_id)
        elif verdict.kind == "over" and await self._end(one, verdict.how, verdict.reason) and verdict.stop_run:
            for run_id in one.runs:
                await self._stop(run_id)

    async def _stop(self, run_id: str) -> None:
        try:
            await self._prefect.cancel_run(run_id)
        except PrefectAway as trouble:
            log.warning("run_not_cancelled", run_id=run_id, why=str(trouble))

    async def _end(self, one: _Watched, how: AttemptEnd, reason: str) -> bool:
        """False where the run was heard meanwhile: the verdict was about the past."""

        def end(tx: Tx, run: ExtractionRun) -> None:
            if run.last_seen_at == one.facts.last_seen_at or how == "cancelled":
                end_run(tx, run, how=how, reason=reason, at=self._clock())
                ended.append(True)

        ended: list[bool] = []
        await self._change(one, end)
        return bool(ended)

    async def _change(self, one: _Watched, what: Callable[[Tx, ExtractionRun], None]) -> bool:
        """Do something to the run, the crawl's row locked; False where it has ended."""
        return await asyncio.to_thread(self._changed, one, what)

    def _changed(self, one: _Watched, what: Callable[[Tx, ExtractionRun], None]) -> bool:
        with self._store.writing() as tx:
            run = runs.current(tx, one.crawl_id) if crawls.get_to_change(tx, one.crawl_id) is not None else None
            if run is None or run.number != one.number:
                return False
            what(tx, run)
            return True


def _watched(run: ExtractionRun) -> _Watched:
    known = tuple(dict.fromkeys(run_id for run_id in (run.run_id, run.flow_run_id) if run_id is not None))
    facts = LevelFacts(
        opened_at=run.opened_at,
        first_seen_at=run.first_seen_at,
        last_seen_at=run.last_seen_at,
        last_settled_at=run.last_result_at,
        dispatch_trouble=run.dispatch_trouble,
    )
    return _Watched(run.crawl_id, run.number, known, facts)
