"""Where rows meet the fence: who holds the current level, and what becomes of those who do not."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, cast

from comity.contract.ledger import CloseLevel, CrawlState, Fence, ReportResults
from ledger import log, metrics
from ledger.errors import Unknown
from ledger.rules.fence import Claim, Holder
from ledger.store import crawls, levels, pages
from ledger.store.database import Tx
from ledger.store.models import Crawl, Level


def crawl_and_level(
    tx: Tx, crawl_id: str, organizations: Sequence[str] | None = None, *, to_change: bool = True
) -> tuple[Crawl, Level]:
    """The crawl and its current level. Raises Unknown, where these organisations have none by that id too."""
    crawl = crawls.get_to_change(tx, crawl_id) if to_change else crawls.get(tx, crawl_id)
    if crawl is None or (organizations is not None and crawl.organization not in organizations):
        raise Unknown("crawl", crawl_id)
    return crawl, levels.current(tx, crawl)


def holder(crawl: Crawl, level: Level) -> Holder:
    """The facts that the fence is judged by."""
    return Holder(cast(CrawlState, crawl.state), crawl.depth, crawl.attempt, level.run_id, level.flow_run_id)


def claim(fence: Fence) -> Claim:
    """What the caller says."""
    return Claim(fence.depth, fence.attempt, fence.run_id)


def keep_evidence(
    tx: Tx, crawl_id: str, kind: Literal["results", "pages", "failed"], fence: Fence, *, why: str, at: datetime
) -> None:
    """Keep what a stale run said. It changes nothing of the crawl. An empty report says nothing, and is not kept.

    The visits that it tells of were made all the same, so their hosts count as touched.
    """
    body: dict[str, Any] = fence.to_wire()
    if isinstance(fence, ReportResults | CloseLevel):
        visited = {result.page_id for result in fence.results if result.tries}
        pages.touch_hosts(tx, (page.host for page in pages.by_id(tx, crawl_id, visited).values()), at=at)
    if kind == "results" and not body.get("results"):
        return
    levels.keep_stale(
        tx,
        crawl_id=crawl_id,
        kind=kind,
        depth=fence.depth,
        attempt=fence.attempt,
        run_id=fence.run_id,
        why=why,
        body=body,
        at=at,
    )
    metrics.stale_report(kind)
    log.warning("stale_report", crawl_id=crawl_id, kind=kind, depth=fence.depth, run_id=fence.run_id, why=why)
