"""A crawl as it is shown."""

from typing import Any

from comity.contract.extraction import ExtractionProgress, ExtractorPin
from comity.contract.ledger.states import AttemptEnd, CrawlState, PageState, Scope, StopReason
from comity.contract.scripts import Compiled, ScriptIdentity
from comity.contract.wire import Answer, Instant


class CrawlPolicy(Answer):
    """What was resolved when the crawl started, and holds for all its levels."""

    scope: Scope
    max_depth: int
    max_pages: int
    per_host_delay_ms: int
    host_parallelism: int
    respect_robots: bool
    include: list[str] = []
    exclude: list[str] = []
    sitemaps: bool = False
    max_bytes: int | None = None
    capture: dict[str, Any]


class CrawlCounts(Answer):
    """Pages by state."""

    pending: int
    captured: int
    failed: int
    skipped: int


class PageFailure(Answer):
    page_id: str
    url: str
    depth: int
    state: PageState
    reason: str
    at: Instant


class LastRun(Answer):
    """The newest flow run of the crawl; `url` opens it in the Prefect UI."""

    id: str
    depth: int
    attempt: int
    url: str | None = None


class AttemptView(Answer):
    """An attempt at a level that ended without closing it, and why. `runId` is None where it never had a run."""

    depth: int
    attempt: int
    run_id: str | None = None
    ended: AttemptEnd
    reason: str
    at: Instant


class CrawlView(Answer):
    """`GET /api/crawls/{id}`. In lists `seeds` are the first few of `seed_count`.

    `attempts` are those that ended without closing their level, oldest first. `kept_bytes` is
    what its artifacts and manifests took up when they were admitted, as far as this ledger could see. `extraction` is
    there where the crawl pinned extractors.
    """

    id: str
    organization: str | None = None
    started_by: str | None = None
    state: CrawlState
    seeds: list[str]
    seed_count: int = 0
    kept_bytes: int = 0
    policy: CrawlPolicy
    counts: CrawlCounts
    started_at: Instant
    finished_at: Instant | None = None
    stop_reason: StopReason | None = None
    error: str | None = None
    failures: list[PageFailure]
    scripts: list[ScriptIdentity]
    compiled: Compiled | None = None
    extractors: list[ExtractorPin] = []
    extraction: ExtractionProgress | None = None
    last_run: LastRun | None = None
    attempts: list[AttemptView] = []


class CrawlList(Answer):
    """Newest first. `before` of the next page, where there are older ones."""

    crawls: list[CrawlView]
    next_before: str | None = None
