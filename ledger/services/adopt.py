"""Adopt captures that nobody reported: their manifests lie in the store, and say whose they are.

A flow run that dies between a capture's last byte and its report would otherwise lose it, and the page would be visited
again. The name of a manifest has the capture's correlation id, so that only manifests of the crawl are opened.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from comity.contract.capture import CaptureReport
from comity.contract.ledger import CrawlPolicy, PageResult
from ledger import log
from ledger.artifacts.artifacts import MANIFEST_ENDING, Artifacts
from ledger.artifacts.place import Found, NotRead
from ledger.clock import Clock
from ledger.errors import Unknown
from ledger.rules import adoption
from ledger.rules.adoption import Correlation
from ledger.rules.outcome import Manifest, Settled, settle
from ledger.rules.scope import authority
from ledger.services.page_links import read_links
from ledger.services.policy import goes_on
from ledger.services.settle_later import settle_later
from ledger.store import crawls, late, levels, pages
from ledger.store.database import Store, Tx
from ledger.store.models import Crawl, Page

MAX_REMEMBERED_CRAWLS = 200
UNKNOWN_ENDPOINT = "unknown: adopted from the store"


@dataclass(frozen=True)
class _Capture:
    """A manifest of a page that has no capture."""

    correlation: Correlation
    location: str
    report: CaptureReport


@dataclass(frozen=True)
class _Lacking:
    """A crawl and its pages without a capture, and the tasks that were reported for them."""

    crawl: Crawl
    pages: dict[str, Page]
    reported_tasks: frozenset[str]


class AdoptionService:
    """Thread-safe. Remembers which manifests it has judged, and for which ended crawls no more can come."""

    def __init__(self, store: Store, artifacts: Artifacts, clock: Clock, *, window_s: float) -> None:
        self._store = store
        self._artifacts = artifacts
        self._clock = clock
        self._window = timedelta(seconds=window_s)
        self._lock = threading.Lock()
        self._judged: OrderedDict[str, set[str]] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()

    def candidates(self, organizations: Sequence[str] | None = None) -> list[str]:
        """Crawls, oldest first, of these organisations (None: of all), that may have captures that nobody reported."""
        now = self._clock()
        with self._store.reading() as tx:
            found = [*crawls.running(tx), *crawls.finished_since(tx, now - self._window)]
            return [
                crawl.id
                for crawl in found
                if (organizations is None or crawl.organization in organizations)
                and crawl.id not in self._finished
                and adoption.worth_scanning(
                    running=crawl.state == "running",
                    finished_at=crawl.finished_at,
                    unproved_at=pages.unproved_at(tx, crawl.id),
                    now=now,
                    window=self._window,
                )
            ]

    def adopt(self, crawl_id: str, *, budget_s: float) -> int:
        """Adopt what there is of the crawl; how many pages are captured by it. Raises Unknown; never NotRead.

        Looks into the sink's folder of the crawl and those of the days since it began, newest first. What `budget_s`
        leaves out, the next call finds.
        """
        ends_s = time.monotonic() + budget_s
        began_at = self._clock()
        lacking = self._lacking(crawl_id)
        if not lacking.pages:
            return 0
        complete, captures = self._captures(crawl_id, lacking, ends_s)
        adopted = sum(self._take(crawl_id, capture) for capture in captures)
        finished_at = lacking.crawl.finished_at
        if complete and finished_at is not None and began_at - finished_at > adoption.STRAGGLE:
            self._remember_finished(crawl_id)
        return adopted

    def _lacking(self, crawl_id: str) -> _Lacking:
        with self._store.reading() as tx:
            crawl = crawls.get(tx, crawl_id)
            if crawl is None:
                raise Unknown("crawl", crawl_id)
            lacking = {page.id: page for page in pages.without_capture(tx, crawl_id)}
            visits = pages.visits(tx, lacking)
        tasks = frozenset(visit.task_id for every in visits.values() for visit in every if visit.task_id)
        return _Lacking(crawl, lacking, tasks)

    def _captures(self, crawl_id: str, lacking: _Lacking, ends_s: float) -> tuple[bool, list[_Capture]]:
        """Manifests of these pages that were not judged before, the newest tries first; whether all were seen."""
        found: list[_Capture] = []
        judged = self._judged_of(crawl_id)
        try:
            for correlation, one in self._named(lacking, judged):
                if time.monotonic() > ends_s:
                    return False, _newest_first(found)
                manifest = self._artifacts.manifest(one.location)
                if manifest.kind == "late":
                    continue
                judged.add(one.name)
                problem = _problem(manifest, correlation, lacking, one)
                if problem is not None:
                    log.warning("not_adopted", crawl_id=crawl_id, page_id=correlation.page_id, why=problem)
                elif manifest.report is not None:
                    found.append(_Capture(correlation, one.location, manifest.report))
        except NotRead as error:
            log.warning("store_not_scanned", crawl_id=crawl_id, why=str(error))
            return False, _newest_first(found)
        return True, _newest_first(found)

    def _named(self, lacking: _Lacking, judged: set[str]) -> Iterator[tuple[Correlation, Found]]:
        crawl = lacking.crawl
        for folder in adoption.folders(crawl.id, crawl.started_at, self._clock()):
            for found in self._artifacts.manifests(folder):
                if crawl.id not in found.name or found.name in judged:
                    continue
                correlation = adoption.correlation_of_name(found.name, MANIFEST_ENDING)
                if correlation is not None and _is_nobodys(correlation, lacking):
                    yield correlation, found

    def _take(self, crawl_id: str, capture: _Capture) -> bool:
        """Keep the visit as evidence; settle the page where the capture is good. True where that captured it."""
        result = _result(capture)
        settled = settle(
            result, Manifest("read", capture.report), crawl_id=crawl_id, attempt=capture.correlation.attempt
        )
        links = self._links(crawl_id, capture, settled) if settled.state == "captured" else None
        size_bytes = self._artifacts.size_bytes([*settled.artifacts.values(), capture.location])
        now = self._clock()
        with self._store.writing() as tx:
            crawl = crawls.get_to_change(tx, crawl_id)
            page = pages.by_id(tx, crawl_id, [result.page_id]).get(result.page_id)
            if crawl is None or page is None:
                return False
            pages.add_visits(tx, [_visit(tx, page, capture, now)])
            pages.touch_hosts(tx, [page.host, *([authority(settled.final_url)] if settled.final_url else [])], at=now)
            if page.state == "captured" or settled.state != "captured" or not settled.admitted:
                return False
            late.forget(tx, page.id)
            settle_later(tx, crawl, page, result=result, settled=settled, links=links, size_bytes=size_bytes, at=now)
        log.event("capture_adopted", crawl_id=crawl_id, page_id=result.page_id, task_id=result.task_id)
        return True

    def _links(self, crawl_id: str, capture: _Capture, settled: Settled) -> list[str] | None:
        page_id = capture.correlation.page_id
        with self._store.reading() as tx:
            crawl = crawls.get(tx, crawl_id)
            page = pages.by_id(tx, crawl_id, [page_id]).get(page_id)
        if crawl is None or page is None:
            return None
        policy = CrawlPolicy.model_validate(crawl.policy)
        if not goes_on(policy, page.depth):
            return None
        return read_links(self._artifacts, settled, policy, crawl_id=crawl_id, page_id=page_id)

    def _judged_of(self, crawl_id: str) -> set[str]:
        with self._lock:
            judged = self._judged.setdefault(crawl_id, set())
            self._judged.move_to_end(crawl_id)
            while len(self._judged) > MAX_REMEMBERED_CRAWLS:
                self._judged.popitem(last=False)
            return judged

    def _remember_finished(self, crawl_id: str) -> None:
        with self._lock:
            self._finished[crawl_id] = None
            self._judged.pop(crawl_id, None)
            while len(self._finished) > MAX_REMEMBERED_CRAWLS:
                self._finished.popitem(last=False)


def _is_nobodys(correlation: Correlation, lacking: _Lacking) -> bool:
    """Whether the capture is of a page without one, and no run at work is about to report it."""
    crawl, page = lacking.crawl, lacking.pages.get(correlation.page_id)
    if page is None or correlation.crawl_id != crawl.id:
        return False
    at_work = crawl.state == "running" and correlation.attempt == crawl.attempt
    return not (at_work and page.state == "pending")


def _newest_first(captures: list[_Capture]) -> list[_Capture]:
    return sorted(captures, key=lambda one: one.correlation, reverse=True)


def _problem(manifest: Manifest, correlation: Correlation, lacking: _Lacking, found: Found) -> str | None:
    if manifest.report is None:
        return manifest.problem or f"{found.name} is {manifest.kind}"
    if manifest.report.task_id in lacking.reported_tasks:
        return f"{manifest.report.task_id} was reported, and weighed then"
    return adoption.mismatch(manifest.report, correlation, lacking.pages[correlation.page_id].url)


def _result(capture: _Capture) -> PageResult:
    """The report that the capture's flow run did not live to send."""
    return PageResult(
        page_id=capture.correlation.page_id,
        url=capture.report.url,
        status="captured" if capture.report.status == "success" else "failed",
        reason=capture.report.status,
        task_id=capture.report.task_id,
        manifest_location=capture.location,
    )


def _visit(tx: Tx, page: Page, capture: _Capture, now: datetime) -> dict[str, Any]:
    """Evidence from the capture server's own clock. No gap is known to have been promised.

    The visit was over long before it is adopted: were the receipt put at now, whoever came to the host in between
    would seem to have come too soon. So it is put at the end that the manifest tells, as far as that can be.
    """
    report, correlation = capture.report, capture.correlation
    level = levels.of_attempt(tx, page.crawl_id, page.depth, correlation.attempt)
    run_id = (level.run_id or level.flow_run_id) if level is not None else None
    finished_at = report.timestamp + timedelta(milliseconds=report.capture_processing_time_ms)
    received_at = min(now, max(finished_at, level.opened_at if level is not None else finished_at))
    return {
        "page_id": page.id,
        "host": page.host,
        "attempt": correlation.attempt,
        "try_number": correlation.number,
        "run_id": run_id or "unknown",
        "endpoint": UNKNOWN_ENDPOINT,
        "task_id": report.task_id,
        "submitted_at": report.timestamp,
        "finished_at": finished_at,
        "received_at": received_at,
        "outcome": report.status,
        "promised_gap_ms": None,
        "lease_id": None,
        "waited_ms": None,
    }
