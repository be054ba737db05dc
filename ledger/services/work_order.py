"""`GET /api/crawls/{id}/levels/{depth}`: all that a run needs to do a level. Taking it is a sign of life."""

from datetime import datetime
from typing import cast

from comity.contract.capture import ArtifactSink, CaptureFormats
from comity.contract.ledger import MAX_HOST_DELAY_MS, CrawlPolicy, FrontierPage, WorkOrder, WorkOrderCapture
from comity.contract.scripts import Phase, PinnedScript
from ledger import log
from ledger.clock import Clock
from ledger.errors import StaleRun
from ledger.rules import fence
from ledger.rules.fence import Claim
from ledger.services.adopt import AdoptionService
from ledger.services.fencing import crawl_and_level, holder
from ledger.services.policy import goes_on
from ledger.services.sink import SinkService
from ledger.store import crawls, extractors, flow_runs, pages
from ledger.store.database import Store, Tx
from ledger.store.models import Crawl

ADOPTION_BUDGET_S = 10.0
"""A flow run waits 30 s for its order. What is not found by then is adopted later, or visited once more."""


class WorkOrderService:
    """Hands out work orders."""

    def __init__(self, store: Store, adoptions: AdoptionService, sink: SinkService, clock: Clock) -> None:
        self._store = store
        self._adoptions = adoptions
        self._sink = sink
        self._clock = clock

    def fetch(self, crawl_id: str, depth: int, attempt: int, run_id: str | None) -> WorkOrder:
        """The level's work order. The first run that takes it holds the level; without a `run_id` it is only looked at.

        Before the first order of a later attempt, captures that nobody reported are adopted: their pages are not
        visited again. Raises Unknown, and StaleRun unless crawl, depth and attempt are current and no other run holds
        the level.
        """
        if attempt > 1 and run_id is not None and self._is_next(crawl_id, depth, attempt):
            self._adoptions.adopt(crawl_id, budget_s=ADOPTION_BUDGET_S)
        now = self._clock()
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id)
            held = holder(crawl, level)
            reason = fence.over(held) or fence.stale(held, Claim(depth, attempt, run_id or level.run_id or ""))
            if reason is not None:
                raise StaleRun(f"this level needs no run: {reason}")
            if run_id is not None:
                if level.run_id is None:
                    log.event("level_taken", crawl_id=crawl_id, depth=depth, attempt=attempt, run_id=run_id)
                flow_runs.hear(tx, level, run_id=run_id, at=now)
            return _order(tx, crawl, self._sink.order(crawl_id), now)

    def _is_next(self, crawl_id: str, depth: int, attempt: int) -> bool:
        """Whether this is the current attempt and nobody has taken it yet."""
        with self._store.reading() as tx:
            crawl, level = crawl_and_level(tx, crawl_id, to_change=False)
            current = crawl.state == "running" and (crawl.depth, crawl.attempt) == (depth, attempt)
            return current and level.run_id is None


def _order(tx: Tx, crawl: Crawl, sink: ArtifactSink | None, now: datetime) -> WorkOrder:
    policy = CrawlPolicy.model_validate(crawl.policy)
    frontier = pages.pending(tx, crawl.id, crawl.depth)
    touched = pages.last_touched(tx, (page.host for page in frontier))
    return WorkOrder(
        crawl_id=crawl.id,
        depth=crawl.depth,
        attempt=crawl.attempt,
        frontier=[
            FrontierPage(
                page_id=page.id, url=page.url, host=page.host, host_idle_ms=_idle_ms(touched.get(page.host), now)
            )
            for page in frontier
        ],
        per_host_delay_ms=policy.per_host_delay_ms,
        host_parallelism=policy.host_parallelism,
        respect_robots=policy.respect_robots,
        sitemaps=policy.sitemaps and crawl.depth == 0 and goes_on(policy, crawl.depth),
        max_host_delay_ms=MAX_HOST_DELAY_MS,
        capture=_capture(policy, crawl.depth, extracts=bool(extractors.pinned(tx, [crawl.id]))),
        scripts=[
            PinnedScript(
                id=script.script_id,
                version=script.version,
                phase=cast(Phase, script.phase),
                source=script.source,
                sha256=script.sha256,
                options=script.options,
            )
            for script in crawls.scripts(tx, [crawl.id], with_source=True).get(crawl.id, [])
        ],
        artifact_sink=sink,
    )


def _idle_ms(touched_at: datetime | None, now: datetime) -> int | None:
    return None if touched_at is None else max(0, int((now - touched_at).total_seconds() * 1000))


def _capture(policy: CrawlPolicy, depth: int, *, extracts: bool) -> WorkOrderCapture:
    """What captures make: also the links where a level follows, and the HTML where something is extracted from it."""
    formats = CaptureFormats.model_validate(policy.capture["formats"])
    if extracts:
        formats = formats.model_copy(update={"html": True})
    if goes_on(policy, depth):
        formats = formats.model_copy(update={"links": True})
    return WorkOrderCapture.model_validate({**policy.capture, "formats": formats})
