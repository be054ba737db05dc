"""`POST /api/crawls/{id}/pages`: close a level, and decide what is next. The ledger repeats, never the flow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, cast

from pydantic_core import to_json

from comity.contract.ledger import AttemptEnd, CloseLevel, CrawlPolicy, ReportResults, StopReason
from comity.contract.scripts import Compiled
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, OutcomesMissing, StaleRun, WrongState
from ledger.ids import new_ids
from ledger.rules import budget, compiled, fence, resume, stop_reason
from ledger.rules.frontier import in_order
from ledger.rules.patterns import LinkPatterns
from ledger.rules.scope import ScopeJudge, authority
from ledger.rules.space import no_next_level
from ledger.services.background import Background
from ledger.services.end_attempt import end_attempt
from ledger.services.extraction_runs import open_run
from ledger.services.fencing import claim, crawl_and_level, holder, keep_evidence
from ledger.services.host_gate import end_level_leases
from ledger.services.policy import goes_on
from ledger.services.record_results import RecordResultsService
from ledger.services.space import Space
from ledger.store import crawls, flow_runs, levels, pages, sitemaps
from ledger.store.database import Store, Tx
from ledger.store.models import Closing, Crawl, Level


@dataclass(frozen=True)
class _Candidates:
    """Rows for the next frontier as (page id, URL, host), in order. `cut`: the budget left others out."""

    rows: list[tuple[str, str, str]]
    cut: bool
    lacking: str | None = None
    """Why there must be no next level although there are rows for one."""


@dataclass(frozen=True)
class ClosedLevel:
    """What a closing led to: (URL, host) of the next level's pages at `depth`, or why there is none."""

    entered: Sequence[tuple[str, str]]
    depth: int
    stop_reason: StopReason | None
    again: int = 0
    """The level is not over: so many of its pages are visited once more."""
    extracts: bool = False
    """Pinned extractors have pages to read."""

    @property
    def over(self) -> bool:
        """The crawl has ended with it."""
        return self.stop_reason is not None

    def to_json(self) -> bytes:
        """`LevelClosed` as it travels. Not by its model: 100,000 small objects took longer than to find their pages."""
        following = [{"url": url, "host": host, "depth": self.depth} for url, host in self.entered]
        answer: dict[str, Any] = {"next": following, "stopReason": self.stop_reason}
        return to_json(answer | {"again": self.again} if self.again else answer)


class CloseLevelService:
    """Closes levels."""

    def __init__(
        self, store: Store, results: RecordResultsService, space: Space, background: Background, clock: Clock
    ) -> None:
        self._store = store
        self._space = space
        self._results = results
        self._background = background
        self._clock = clock

    def close(self, crawl_id: str, order: CloseLevel) -> ClosedLevel:
        """Close the level and open the next one, or end the crawl. The same level again gets the same answer.

        Raises Unknown; StaleRun for a run that does not hold the level; OutcomesMissing; BadInput or WrongState for a
        `compiled` that is not what the crawl pinned. Results that came along are kept even where it is refused.
        """
        stored = self._stored(crawl_id, order)
        if stored is not None:
            return stored
        if order.results:
            fenced = {"depth": order.depth, "attempt": order.attempt, "run_id": order.run_id}
            self._results.record(crawl_id, ReportResults.model_validate({**fenced, "results": order.results}))
        candidates = self._candidates(crawl_id, order.depth)
        now = self._clock()
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id)
            closing = levels.closing(tx, crawl_id, order.depth)
            if closing is not None:
                return _repeated(tx, closing)
            decided = self._decide(tx=tx, crawl=crawl, level=level, order=order, candidates=candidates, now=now)
        _tell(crawl_id, order, decided)
        if not decided.over:
            self._background.dispatch(crawl_id)
        if decided.extracts:
            self._background.extract(crawl_id)
        return decided

    def _stored(self, crawl_id: str, order: CloseLevel) -> ClosedLevel | None:
        """The stored answer, or None where this run may close the level. A stale run is refused, its words kept."""
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id)
            closing = levels.closing(tx, crawl_id, order.depth)
            if closing is not None:
                return _repeated(tx, closing)
            held = holder(crawl, level)
            stale = fence.stale(held, claim(order))
            reason = fence.over(held) or stale
            if stale is not None:
                keep_evidence(tx, crawl_id, "pages", order, why=stale, at=self._clock())
        if reason is not None:
            if stale is None and order.results:  # the run that held the level when the crawl ended: its captures count
                self._results.record(crawl_id, ReportResults.model_validate(order.model_dump(exclude={"compiled"})))
            raise StaleRun(f"this level cannot be closed by this run: {reason}")
        return None

    def _candidates(self, crawl_id: str, depth: int) -> _Candidates:
        """What could go into the next frontier, in order. Outside the writing transaction: it may take seconds."""
        with self._store.reading() as tx:
            crawl, _ = crawl_and_level(tx, crawl_id, to_change=False)
            policy = CrawlPolicy.model_validate(crawl.policy)
            if not goes_on(policy, depth):
                return _Candidates([], cut=False)
            known = set(pages.urls(tx, crawl_id))
            judge = ScopeJudge(policy.scope, pages.final_urls(tx, crawl_id, 0))
            patterns = LinkPatterns(policy.include, policy.exclude)
            with (
                pages.links_of_level(tx, crawl_id, depth) as found,
                sitemaps.links_of_level(tx, crawl_id, depth) as named,
            ):
                # The cheap question first: most links of a site lead to pages that the crawl has.
                new = (url for url in in_order(chain(found, named)) if url not in known and judge.allows(url))
                allowed = (url for url in new if patterns.allow(url))
                entry = budget.admit(allowed, known, policy.max_pages)
        lacking = self._space.lacking() if entry.urls else None
        urls = () if lacking else entry.urls
        rows = [(ident, url, authority(url)) for ident, url in zip(new_ids("p", len(urls)), urls, strict=True)]
        return _Candidates(rows, entry.cut, lacking)

    def _decide(
        self, *, tx: Tx, crawl: Crawl, level: Level, order: CloseLevel, candidates: _Candidates, now: datetime
    ) -> ClosedLevel:
        held = holder(crawl, level)
        reason = fence.over(held) or fence.stale(held, claim(order))
        if reason is not None:
            raise StaleRun(f"this level cannot be closed by this run: {reason}")
        missing = pages.pending_ids(tx, crawl.id, order.depth)
        if missing:
            raise OutcomesMissing(missing)
        _record_compiled(tx, crawl, order.compiled)
        flow_runs.hear(tx, level, run_id=order.run_id, at=now)
        again = _visits_again(tx, crawl, level, now)
        if again:
            return ClosedLevel((), order.depth + 1, None, again=again)
        levels.end(tx, level, how="closed", at=now)
        end_level_leases(tx, crawl, at=now, in_flight=False)
        decided = self._go_on(tx, crawl, order, candidates, now=now)
        pages.drop_links(tx, crawl.id, order.depth)
        sitemaps.drop_links(tx, crawl.id, order.depth)
        levels.keep_closing(
            tx,
            crawl_id=crawl.id,
            depth=order.depth,
            attempt=order.attempt,
            run_id=order.run_id,
            stop_reason=decided.stop_reason,
            at=now,
        )
        return replace(decided, extracts=open_run(tx, crawl.id, at=now))

    def _go_on(self, tx: Tx, crawl: Crawl, order: CloseLevel, candidates: _Candidates, now: datetime) -> ClosedLevel:
        policy = CrawlPolicy.model_validate(crawl.policy)
        depth = order.depth + 1
        entered = pages.insert_frontier(tx, crawl_id=crawl.id, depth=depth, pages=candidates.rows)
        after = stop_reason.after_level(
            depth=order.depth,
            max_depth=policy.max_depth,
            entered=len(entered),
            cut=candidates.cut,
            bitten=_bitten(crawl),
        )
        if after.over:
            if candidates.lacking is not None:
                ending = no_next_level(depth=depth, lacking=candidates.lacking)
            else:
                ending = stop_reason.ending(crawls.page_counts(tx, [crawl.id]).get(crawl.id, {}), after.bitten)
            crawls.end(tx, crawl, ending, at=now)
            return ClosedLevel((), depth, ending.stop_reason)
        crawls.advance(tx, crawl, depth=depth, bitten=after.bitten)
        levels.open_level(tx, crawl_id=crawl.id, depth=depth, attempt=1, at=now)
        return ClosedLevel(entered, depth, None)


def _visits_again(tx: Tx, crawl: Crawl, level: Level, now: datetime) -> int:
    """How many pages of the level are visited once more, by another attempt that is opened here. Mostly none."""
    unstored = pages.unstored(tx, crawl.id, level.depth)
    earlier = [cast(AttemptEnd | None, one.ended_as) for one in levels.attempts(tx, crawl.id, level.depth)]
    captured = bool(unstored) and pages.any_captured(tx, crawl.id, level.depth)
    if not resume.visit_unstored_again(unstored=len(unstored), captured=captured, earlier=earlier):
        return 0
    pages.visit_again(tx, unstored)
    reason = f"captures of {len(unstored)} pages did not reach us; they are visited once more"
    end_attempt(tx, crawl, level, how="unstored", reason=reason, at=now)
    return len(unstored)


def _repeated(tx: Tx, closing: Closing) -> ClosedLevel:
    """The answer that the closing got. Its pages are the next level's rows, which never change, so they are not kept
    twice: 100,000 of them would be 12 MB."""
    entered = [] if closing.stop_reason else pages.frontier(tx, closing.crawl_id, closing.depth + 1)
    return ClosedLevel(entered, closing.depth + 1, cast(StopReason | None, closing.stop_reason))


def _bitten(crawl: Crawl) -> StopReason | None:
    match crawl.bitten:
        case None | "max_pages" | "max_depth" | "completed":
            return crawl.bitten
    raise ValueError(f"crawl {crawl.id} has the unknown stop reason {crawl.bitten}")


def _record_compiled(tx: Tx, crawl: Crawl, reported: Compiled) -> None:
    pinned = [(script.script_id, script.version) for script in crawls.scripts(tx, [crawl.id]).get(crawl.id, [])]
    recorded = Compiled.model_validate(crawl.compiled) if crawl.compiled is not None else None
    verdict = compiled.judge_compiled(pinned, recorded, reported)
    if verdict.kind == "refuse":
        raise BadInput.at(verdict.field, verdict.message)
    if verdict.kind == "conflict":
        raise WrongState(verdict.message)
    if verdict.kind == "record":
        crawls.record_compiled(tx, crawl, reported.to_wire())


def _tell(crawl_id: str, order: CloseLevel, decided: ClosedLevel) -> None:
    if decided.again:
        return  # the next attempt at it was told of
    log.event("level_closed", crawl_id=crawl_id, depth=order.depth, attempt=order.attempt, next=len(decided.entered))
    if decided.over:
        log.event("crawl_ended", crawl_id=crawl_id, depth=order.depth, stop_reason=decided.stop_reason)
