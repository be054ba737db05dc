"""See that no crawl stands still: ask how the run of every running crawl fares, and act on it.

This is the guarantee behind the flow's own reports and Prefect's hooks, neither of which survives every death. Whatever
is decided is checked again where it is written, under the crawl's row lock.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from comity.contract.wire import rfc3339
from ledger import log, metrics
from ledger.clock import Clock
from ledger.errors import LedgerRefusal
from ledger.rules import liveness
from ledger.rules.liveness import LevelFacts, Limits, Verdict
from ledger.services.dispatch import Dispatcher
from ledger.services.end_attempt import Followed, end_attempt
from ledger.services.prefect_api import PrefectApi, PrefectAway
from ledger.store import crawls, flow_runs, levels
from ledger.store.database import Outage, Store
from ledger.store.models import Crawl, Level

TURN = "reconcile"
ASLEEP_AFTER_PASSES = 3
"""A pass this many intervals late means that the machine slept or the clock jumped: nobody could be heard."""


@dataclass(frozen=True)
class _Watched:
    """A running crawl's current attempt; `runs` are those known for it, the one that holds the level first."""

    crawl_id: str
    depth: int
    attempt: int
    runs: tuple[str, ...]
    facts: LevelFacts

    @property
    def run_id(self) -> str | None:
        """The run that the verdict hangs on."""
        return self.runs[0] if self.runs else None

    def is_current(self, crawl: Crawl) -> bool:
        """Whether the crawl is still where it was when we looked."""
        return crawl.state == "running" and (crawl.depth, crawl.attempt) == (self.depth, self.attempt)


class Reconciler:
    """Listens at start and every `every_s`; asks Prefect beside that, so that a slow Prefect never makes us deaf."""

    def __init__(
        self,
        *,
        store: Store,
        prefect: PrefectApi,
        dispatcher: Dispatcher,
        limits: Limits,
        clock: Clock,
        every_s: float,
    ) -> None:
        self._store = store
        self._prefect = prefect
        self._dispatcher = dispatcher
        self._limits = limits
        self._clock = clock
        self._every_s = every_s
        self._listening_since = clock()
        self._last_pass_at = self._listening_since
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Pass after pass until cancelled. A pass that breaks is logged, and the next one tries again."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                try:
                    await self.begin_pass()
                except LedgerRefusal as refusal:
                    log.warning("reconcile_postponed", why=str(refusal))
                except Exception as error:
                    log.failure("reconcile_pass_failed", error)
                await asyncio.sleep(max(0.1, self._every_s - (loop.time() - began)))
        finally:
            for task in list(self._asking.values()):
                task.cancel()
            await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def one_pass(self) -> None:
        """Look at every running crawl once, to the end."""
        await self.begin_pass()
        await asyncio.gather(*self._asking.values())

    async def begin_pass(self) -> None:
        """Judge by ear at once; then ask Prefect about the others, one question per crawl at a time."""
        now = self._clock()
        late = now - self._last_pass_at > timedelta(seconds=ASLEEP_AFTER_PASSES * self._every_s)
        if late or now < self._last_pass_at or not await asyncio.to_thread(self._can_write):
            self._listening_since = now
        self._last_pass_at = now
        for one, followed in await asyncio.to_thread(self._judge_by_ear, now):
            if one.crawl_id not in self._asking:
                self._asking[one.crawl_id] = asyncio.create_task(self._guarded(one, followed))

    def _judge_by_ear(self, now: datetime) -> list[tuple[_Watched, Followed | None]]:
        """Every running crawl, with what followed where its run has fallen silent: known without asking anyone.

        Nothing where another ledger's turn is. What is asked of Prefect afterwards may be asked by two ledgers:
        verdicts are judged again under the crawl's lock, and a dispatch has the key of its level.
        """
        with self._store.exclusively(TURN) as alone:
            judged: list[tuple[_Watched, Followed | None]] = []
            for one in self._watched() if alone else []:
                verdict = liveness.by_ear(one.facts, self._limits, now=now, listening_since=self._listening_since)
                metrics.verdict(f"ear: {verdict.kind}")
                judged.append((one, self._end(one, verdict) if verdict.kind == "over" else None))
            return judged

    async def _guarded(self, one: _Watched, followed: Followed | None) -> None:
        try:
            await (self._ask(one) if followed is None else self._follow(one, followed, stop_run=True))
        except Exception as error:
            log.failure("reconcile_failed", error, crawl_id=one.crawl_id)
        finally:
            self._asking.pop(one.crawl_id, None)

    def _can_write(self) -> bool:
        """False where reports could not be kept since the pass before: then nobody was heard, and nobody is silent."""
        outage = self._store.outage
        if outage is not None and outage.until is None:
            with contextlib.suppress(LedgerRefusal):
                self._store.prove_writable()
            return False
        return True

    def _watched(self) -> list[_Watched]:
        with self._store.reading() as tx:
            return [
                _Watched(crawl.id, crawl.depth, crawl.attempt, _runs(level), _facts(level))
                for crawl in crawls.running(tx)
                for level in [levels.current(tx, crawl)]
            ]

    async def _ask(self, one: _Watched) -> None:
        if one.run_id is None:
            verdict = liveness.before_dispatch(
                one.facts, self._limits, now=self._clock(), listening_since=self._listening_since
            )
        else:
            seen = await self._seen(one, one.run_id)
            verdict = liveness.by_prefect(
                one.facts, seen, self._limits, now=self._clock(), listening_since=self._listening_since
            )
        metrics.verdict(f"prefect: {verdict.kind}")
        await self._act(one, verdict)

    async def _seen(self, one: _Watched, run_id: str) -> liveness.Seen:
        try:
            state = await self._prefect.run_state(run_id)
        except PrefectAway as trouble:
            log.warning("prefect_silent", crawl_id=one.crawl_id, run_id=run_id, why=str(trouble))
            return liveness.PrefectSilent(str(trouble))
        if state is None:
            return liveness.RunMissing()
        since = await asyncio.to_thread(self._saw, one, state.type)
        return liveness.RunSeen(state.type, since, state.message)

    def _saw(self, one: _Watched, state: str) -> datetime:
        now = self._clock()
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, one.crawl_id)
            if crawl is None or not one.is_current(crawl):
                return now
            return flow_runs.saw_state(tx, levels.current(tx, crawl), state=state, at=now)

    async def _act(self, one: _Watched, verdict: Verdict) -> None:
        if verdict.kind == "dispatch":
            if one.run_id is not None:
                await asyncio.to_thread(self._forget_run, one)
            await self._dispatcher.dispatch(one.crawl_id)
        elif verdict.kind == "over":
            followed = await asyncio.to_thread(self._end, one, verdict)
            if followed is not None:
                await self._follow(one, followed, stop_run=verdict.stop_run)

    async def _follow(self, one: _Watched, followed: Followed, *, stop_run: bool) -> None:
        """Give the next attempt its run, which ends this one first; or end this one alone."""
        if not followed.closed:
            await self._dispatcher.dispatch(one.crawl_id)
        elif stop_run:
            for run_id in one.runs:
                await self._dispatcher.stop_run(run_id)

    def _forget_run(self, one: _Watched) -> None:
        """Prefect lost the run before it began (its database was reset): the level is as good as never dispatched."""
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, one.crawl_id)
            if crawl is not None and one.is_current(crawl):
                levels.lost_run(tx, levels.current(tx, crawl), flow_run_id=one.run_id)

    def _end(self, one: _Watched, verdict: Verdict) -> Followed | None:
        """None where the level moved on, or was heard from, while we judged: the verdict was about the past."""
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, one.crawl_id)
            if crawl is None or not one.is_current(crawl):
                return None
            level = levels.current(tx, crawl)
            if level.last_seen_at != one.facts.last_seen_at and verdict.how != "cancelled":
                return None
            reason = with_outage(verdict.reason, self._store.outage, since=level.last_seen_at or level.opened_at)
            return end_attempt(tx, crawl, level, how=verdict.how, reason=reason, at=self._clock())


def _runs(level: Level) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run_id for run_id in (level.run_id, level.flow_run_id) if run_id is not None))


def with_outage(reason: str, outage: Outage | None, *, since: datetime) -> str:
    """The reason, and that the database could not be written in the meantime, where that is so."""
    if outage is None or (outage.until is not None and outage.until < since):
        return reason
    until = f"until {rfc3339(outage.until)}" if outage.until else "until just now"
    words = f"the ledger's database could not be written from {rfc3339(outage.since)} {until}: its disk was full"
    return f"{reason}; {words}" if reason else words


def _facts(level: Level) -> LevelFacts:
    return LevelFacts(
        opened_at=level.opened_at,
        first_seen_at=level.first_seen_at,
        last_seen_at=level.last_seen_at,
        last_settled_at=level.last_settled_at,
        dispatch_trouble=level.dispatch_trouble,
    )
