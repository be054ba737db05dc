"""What the ledger shows of its crawls."""

from collections.abc import Sequence
from typing import cast

from comity.contract.ledger import (
    AttemptEnd,
    AttemptView,
    CrawlCounts,
    CrawlList,
    CrawlPolicy,
    CrawlState,
    CrawlView,
    LastRun,
    PageFailure,
    PageList,
    PageState,
    PageView,
    StopReason,
    VisitView,
)
from comity.contract.scripts import Compiled, Phase, ScriptIdentity
from ledger.errors import BadInput, Unknown
from ledger.services import extraction_runs
from ledger.services.extract_pages import pin_view
from ledger.store import crawls, extractors, levels, pages
from ledger.store.database import Store, Tx
from ledger.store.models import Crawl, CrawlScript, Level, Page, Visit

NEWEST_CRAWLS = 100
LAST_FAILURES = 5


class LookService:
    """Views of crawls and pages. `ui_url` is the Prefect UI's address, where it is known.

    `organizations`: whose rows are in view, None everybody's.
    """

    def __init__(self, store: Store, ui_url: str | None) -> None:
        self._store = store
        self._ui_url = ui_url

    def crawl(self, crawl_id: str, organizations: Sequence[str] | None = None) -> CrawlView:
        """One crawl. Raises Unknown."""
        with self._store.reading() as tx:
            crawl = crawls.get(tx, crawl_id, organizations, with_seeds=True)
            if crawl is None:
                raise Unknown("crawl", crawl_id)
            view = self._views(tx, [crawl])[0]
            return view.model_copy(update={"seeds": crawl.seeds})

    def newest(
        self, organizations: Sequence[str] | None = None, *, before: str | None = None, limit: int = NEWEST_CRAWLS
    ) -> CrawlList:
        """Newest first, with the first few of their seeds; `before`: those older than that crawl. Raises BadInput."""
        with self._store.reading() as tx:
            last = crawls.get(tx, before, organizations) if before is not None else None
            if before is not None and last is None:
                raise BadInput.at("before", "names no crawl; begin again without it")
            found = crawls.newest(tx, organizations, limit + 1, before=last)
            shown = found[:limit]
            return CrawlList(crawls=self._views(tx, shown), next_before=shown[-1].id if len(found) > limit else None)

    def crawls_by_state(self) -> dict[str, int]:
        """How many crawls are in each state."""
        with self._store.reading() as tx:
            return crawls.counts_by_state(tx)

    def pages(
        self,
        crawl_id: str,
        organizations: Sequence[str] | None = None,
        *,
        depth: int | None,
        state: PageState | None,
    ) -> PageList:
        """The crawl's pages in frontier order, with their visits. Raises Unknown."""
        with self._store.reading() as tx:
            if crawls.get(tx, crawl_id, organizations) is None:
                raise Unknown("crawl", crawl_id)
            rows = pages.listed(tx, crawl_id, depth=depth, state=state)
            visits = pages.visits(tx, [page.id for page in rows])
        return PageList(pages=[_page_view(page, visits.get(page.id, [])) for page in rows])

    def _views(self, tx: Tx, rows: Sequence[Crawl]) -> list[CrawlView]:
        ids = [crawl.id for crawl in rows]
        counts = crawls.page_counts(tx, ids)
        scripts = crawls.scripts(tx, ids)
        runs = levels.newest_dispatched(tx, ids)
        broken = levels.broken(tx, ids)
        pins = extractors.pinned(tx, ids)
        extracted = extraction_runs.progress(tx, pins, self._ui_url)
        return [
            CrawlView(
                id=crawl.id,
                organization=crawl.organization,
                started_by=crawl.started_by,
                state=cast(CrawlState, crawl.state),
                seeds=crawl.first_seeds,
                seed_count=crawl.seed_count,
                kept_bytes=crawl.kept_bytes,
                policy=CrawlPolicy.model_validate(crawl.policy),
                counts=_counts(counts.get(crawl.id, {})),
                started_at=crawl.started_at,
                finished_at=crawl.finished_at,
                stop_reason=cast(StopReason | None, crawl.stop_reason),
                error=crawl.error,
                failures=[_failure(page) for page in pages.last_troubles(tx, crawl.id, LAST_FAILURES)],
                scripts=[_identity(script) for script in scripts.get(crawl.id, [])],
                compiled=Compiled.model_validate(crawl.compiled) if crawl.compiled is not None else None,
                extractors=[pin_view(pin) for pin in pins.get(crawl.id, [])],
                extraction=extracted.get(crawl.id),
                last_run=self._last_run(runs.get(crawl.id)),
                attempts=[_attempt(level) for level in broken.get(crawl.id, [])],
            )
            for crawl in rows
        ]

    def _last_run(self, level: Level | None) -> LastRun | None:
        run_id = (level.run_id or level.flow_run_id) if level is not None else None
        if level is None or run_id is None:
            return None
        url = f"{self._ui_url}/runs/flow-run/{run_id}" if self._ui_url else None
        return LastRun(id=run_id, depth=level.depth, attempt=level.attempt, url=url)


def _counts(by_state: dict[str, int]) -> CrawlCounts:
    return CrawlCounts(
        pending=by_state.get("pending", 0),
        captured=by_state.get("captured", 0),
        failed=by_state.get("failed", 0),
        skipped=by_state.get("skipped", 0),
    )


def _failure(page: Page) -> PageFailure:
    assert page.settled_at is not None
    return PageFailure(
        page_id=page.id,
        url=page.url,
        depth=page.depth,
        state=cast(PageState, page.state),
        reason=page.reason or "",
        at=page.settled_at,
    )


def _attempt(level: Level) -> AttemptView:
    assert level.closed_at is not None
    return AttemptView(
        depth=level.depth,
        attempt=level.attempt,
        run_id=level.run_id or level.flow_run_id,
        ended=cast(AttemptEnd, level.ended_as),
        reason=level.ended_reason or "no reason given",
        at=level.closed_at,
    )


def _identity(script: CrawlScript) -> ScriptIdentity:
    return ScriptIdentity(
        id=script.script_id,
        version=script.version,
        phase=cast(Phase, script.phase),
        sha256=script.sha256,
        options=script.options,
    )


def _page_view(page: Page, visits: Sequence[Visit]) -> PageView:
    return PageView(
        page_id=page.id,
        url=page.url,
        host=page.host,
        depth=page.depth,
        state=cast(PageState, page.state),
        reason=page.reason,
        http_status=page.http_status,
        final_url=page.final_url,
        artifacts=page.artifacts or {},
        manifest_location=page.manifest_location,
        manifest_error=page.manifest_error,
        settled_at=page.settled_at,
        visits=[
            VisitView(
                try_=visit.try_number,
                attempt=visit.attempt,
                endpoint=visit.endpoint,
                task_id=visit.task_id,
                submitted_at=visit.submitted_at,
                finished_at=visit.finished_at,
                received_at=visit.received_at,
                outcome=visit.outcome,
                promised_gap_ms=visit.promised_gap_ms,
            )
            for visit in visits
        ],
    )
