"""Crawls, pages and visits for tests of what is shown."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from comity.contract.audit import HostAudit
from comity.contract.ledger import (
    AttemptEnd,
    AttemptView,
    CrawlCounts,
    CrawlPolicy,
    CrawlView,
    PageState,
    PageView,
    VisitView,
)

BEGAN_AT = datetime(2030, 1, 31, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGAN_AT + timedelta(seconds=seconds)


def visit(
    began_s: float,
    ended_s: float,
    *,
    outcome: str = "success",
    task_id: str | None = "t1",
    promised_ms: int | None = None,
) -> VisitView:
    return VisitView(
        try_=1,
        attempt=1,
        endpoint="http://127.0.0.1:1",
        task_id=task_id,
        submitted_at=at(began_s),
        finished_at=at(ended_s),
        received_at=at(ended_s),
        outcome=outcome,
        promised_gap_ms=promised_ms,
    )


def page(path: str, state: PageState = "captured", *, host: str = "a.test", depth: int = 0, **more: Any) -> PageView:
    return PageView(page_id=f"p{path}", url=f"http://{host}{path}", host=host, depth=depth, state=state, **more)


def crawl(pages: Sequence[PageView], state: Any = "running", **more: Any) -> CrawlView:
    counts = {name: sum(1 for one in pages if one.state == name) for name in CrawlCounts.model_fields}
    return CrawlView(
        id="c1",
        state=state,
        seeds=["http://a.test/"],
        policy=CrawlPolicy(
            scope="same-origin",
            max_depth=2,
            max_pages=30,
            per_host_delay_ms=1000,
            host_parallelism=4,
            respect_robots=True,
            capture={},
        ),
        counts=CrawlCounts(**counts),
        started_at=BEGAN_AT,
        failures=[],
        scripts=[],
        **more,
    )


def died(depth: int, attempt: int, ended: AttemptEnd = "crashed") -> AttemptView:
    """An attempt at a level that did not close it."""
    return AttemptView(depth=depth, attempt=attempt, run_id="r", ended=ended, reason="[run] killed", at=at(1))


def audit(host: str = "a.test", **more: Any) -> HostAudit:
    """A host with two visits, promised 1 s and given it unless told otherwise."""
    facts = {
        "visits": 2,
        "crawls": 1,
        "smallest_gap_ms": 1000,
        "clock": "run",
        "promised_ms": 1000,
        "least_promised_ms": 1000,
        "broken": 0,
        "violations": [],
    } | more
    return HostAudit(host=host, kept=facts["broken"] == 0, **facts)
