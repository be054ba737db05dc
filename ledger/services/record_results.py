"""`POST /api/crawls/{id}/results`: what came of pages, while their level runs.

Every try becomes a visit, whatever became of the page. Files are read outside the writing transaction: a level of
10,000 pages must not hold the database while it opens 20,000 of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comity.contract.ledger import CrawlPolicy, ErrorField, PageResult, PageState, ReportResults, ResultsAnswer
from ledger import log, metrics
from ledger.artifacts.artifacts import Artifacts
from ledger.clock import Clock
from ledger.errors import BadInput
from ledger.rules import fence, space
from ledger.rules.frontier import Link, followable
from ledger.rules.outcome import Settled, replaces, settle
from ledger.rules.scope import authority
from ledger.services.end_attempt import end_by_limit
from ledger.services.fencing import claim, crawl_and_level, holder, keep_evidence
from ledger.services.page_links import read_links
from ledger.services.policy import goes_on
from ledger.services.want_extractions import want
from ledger.store import crawls, flow_runs, late, levels, pages, sitemaps
from ledger.store.database import Store, Tx
from ledger.store.models import Crawl, Level, Page


@dataclass(frozen=True)
class _Weighed:
    """A result with what its files say. `settled` is None where the page has this very outcome already.

    `late`: why the manifest could not be read yet.
    """

    result: PageResult
    settled: Settled | None
    links: list[str] | None
    size_bytes: int = 0
    late: str | None = None


class RecordResultsService:
    """Takes results of pages."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock

    def record(self, crawl_id: str, report: ReportResults) -> ResultsAnswer:
        """Keep the results; an empty report is a sign of life. The same report twice changes nothing the second time.

        Answers `stop` where the crawl needs no more of this run. Results of a run that held the level when the crawl
        ended are still taken: what was captured was captured. Raises Unknown; BadInput for pages of other levels.
        """
        with self._store.reading() as tx:
            crawl, level = crawl_and_level(tx, crawl_id, to_change=False)
            stale = fence.stale(holder(crawl, level), claim(report))
            policy = CrawlPolicy.model_validate(crawl.policy)
            weighable = [] if stale else self._checked(tx, crawl_id, report)
        weighed = [self._weigh(crawl_id, policy, report, result, page) for result, page in weighable]
        now = self._clock()
        wanted = policy.sitemaps and goes_on(policy, report.depth)
        named = _sitemap_rows(crawl_id, report, now) if wanted else []
        metrics.results_received(len(report.results))
        with self._store.writing() as tx:
            crawl, level = crawl_and_level(tx, crawl_id)
            held = holder(crawl, level)
            stale = fence.stale(held, claim(report))
            if stale is not None:
                keep_evidence(tx, crawl_id, "results", report, why=stale, at=now)
                return ResultsAnswer(stop=True, reason=stale)
            flow_runs.hear(tx, level, run_id=report.run_id, at=now)
            self._write(tx, crawl, level, report, weighed, now=now)
            sitemaps.keep(tx, named)
            over = fence.over(held) or self._over_quota(tx, crawl, level, policy, now)
            return ResultsAnswer(stop=over is not None, reason=over)

    def _over_quota(self, tx: Tx, crawl: Crawl, level: Level, policy: CrawlPolicy, now: datetime) -> str | None:
        """End a crawl that keeps more than it may, and say so."""
        if policy.max_bytes is None or crawl.kept_bytes <= policy.max_bytes:
            return None
        captured = crawls.page_counts(tx, [crawl.id])[crawl.id].get("captured", 0)
        ending = space.over_quota(kept_bytes=crawl.kept_bytes, max_bytes=policy.max_bytes, captured=captured)
        assert ending is not None
        end_by_limit(tx, crawl, level, ending, at=now)
        return ending.error

    def _checked(self, tx: Tx, crawl_id: str, report: ReportResults) -> list[tuple[PageResult, Page]]:
        known = pages.by_id(tx, crawl_id, {result.page_id for result in report.results})
        problems: list[ErrorField] = []
        checked: list[tuple[PageResult, Page]] = []
        for place, result in enumerate(report.results):
            page = known.get(result.page_id)
            if page is None or page.depth != report.depth:
                problems.append(ErrorField(field=f"results.{place}.pageId", message="no such page at this level"))
            elif page.url != result.url:
                problems.append(ErrorField(field=f"results.{place}.url", message=f"the page's URL is {page.url}"))
            else:
                checked.append((result, page))
        if problems:
            raise BadInput(problems)
        return checked

    def _weigh(
        self, crawl_id: str, policy: CrawlPolicy, report: ReportResults, result: PageResult, page: Page
    ) -> _Weighed:
        if page.state == "captured" or (page.state != "pending" and page.task_id == result.task_id):
            return _Weighed(result, None, None)
        manifest = self._artifacts.manifest(result.manifest_location)
        settled = settle(result, manifest, crawl_id=crawl_id, attempt=report.attempt)
        links = None
        if settled.state == "captured" and manifest.kind not in ("late", "none") and goes_on(policy, report.depth):
            links = read_links(self._artifacts, settled, policy, crawl_id=crawl_id, page_id=page.id)
        named = [*settled.artifacts.values(), result.manifest_location]
        size_bytes = self._artifacts.size_bytes(place for place in named if place)
        return _Weighed(result, settled, links, size_bytes, manifest.problem if manifest.kind == "late" else None)

    def _write(
        self, tx: Tx, crawl: Crawl, level: Level, report: ReportResults, weighed: list[_Weighed], *, now: datetime
    ) -> None:
        if not weighed:
            return
        rows = pages.by_id(tx, level.crawl_id, {one.result.page_id for one in weighed})
        pages.add_visits(tx, _visit_rows(report, rows, now))
        touched: dict[str, None] = {}
        links: dict[str, list[str]] = {}
        moved, kept_bytes = False, 0
        proved: list[Page] = []
        for one in weighed:
            page = rows[one.result.page_id]
            if any(tried.lease_id is None for tried in one.result.tries):
                touched[page.host] = None  # one under a lease touched its host when that was released
            if one.settled is None or not replaces(_state(page), one.settled):
                continue
            pages.settle(page, one.result, one.settled, at=now)
            moved = True
            tell_page(page, one.settled)
            kept_bytes += one.size_bytes
            if one.late is None and page.state == "captured":
                proved.append(page)
            if one.late is not None:
                late.mark(tx, one.result, attempt=report.attempt, problem=one.late, at=now)
            landed = authority(one.settled.final_url) if one.settled.final_url else page.host
            if landed != page.host:
                touched[landed] = None  # where a redirect led was visited too
            if one.links is not None:
                links[page.id] = one.links
        pages.keep_links(tx, links)
        want(tx, level.crawl_id, proved, at=now)
        pages.touch_hosts(tx, touched, at=now)
        if moved:
            levels.progressed(tx, level, at=now)
            crawls.keep_bytes(tx, crawl, kept_bytes)


def tell_page(page: Page, settled: Settled) -> None:
    """One line for each page that got its outcome."""
    metrics.page_settled(settled.state)
    log.event(
        "page_settled",
        crawl_id=page.crawl_id,
        page_id=page.id,
        host=page.host,
        depth=page.depth,
        state=settled.state,
        reason=settled.reason,
    )


def _state(page: Page) -> PageState:
    match page.state:
        case "pending" | "captured" | "failed" | "skipped":
            return page.state
    raise ValueError(f"page {page.id} is in the unknown state {page.state}")


def _sitemap_rows(crawl_id: str, report: ReportResults, now: datetime) -> list[dict[str, Any]]:
    return [
        {
            "crawl_id": crawl_id,
            "depth": report.depth,
            "url": read.url,
            "part": read.part,
            "outcome": read.outcome,
            "named": len(read.urls),
            "links": followable((Link(url) for url in read.urls), read.url),
            "received_at": now,
        }
        for read in report.sitemaps or ()
    ]


def _visit_rows(report: ReportResults, rows: Mapping[str, Page], now: datetime) -> list[dict[str, Any]]:
    return [
        {
            "page_id": result.page_id,
            "host": rows[result.page_id].host,
            "attempt": report.attempt,
            "try_number": tried.try_,
            "run_id": report.run_id,
            "endpoint": tried.endpoint,
            "task_id": tried.task_id,
            "submitted_at": tried.submitted_at,
            "finished_at": tried.finished_at,
            "received_at": now,
            "outcome": tried.outcome,
            "promised_gap_ms": tried.promised_gap_ms,
            "lease_id": tried.lease_id,
            "waited_ms": tried.waited_ms,
        }
        for result in report.results
        for tried in result.tries
    ]
