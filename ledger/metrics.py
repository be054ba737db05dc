"""What `/metrics` tells of this process, in Prometheus' text format. Every label has a few values that we chose."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
CRAWL_STATES = ("running", "succeeded", "failed", "cancelled")

REGISTRY = CollectorRegistry(auto_describe=True)
"""Ours alone, so that nothing of other libraries is told."""

_crawls = Gauge("comity_ledger_crawls", "Crawls in the database, by state.", ("state",), registry=REGISTRY)
_free = Gauge("comity_ledger_free_bytes", "Free space where artifacts and database lie.", registry=REGISTRY)
_unwritable = Gauge("comity_ledger_database_unwritable", "1 while the database takes no writes.", registry=REGISTRY)
_pages = Counter("comity_ledger_pages_settled", "Pages that got an outcome here.", ("outcome",), registry=REGISTRY)
_results = Counter("comity_ledger_results", "Results of pages received, repeats included.", registry=REGISTRY)
_stale = Counter("comity_ledger_stale_reports", "Reports of runs that no longer count.", ("kind",), registry=REGISTRY)
_verdicts = Counter(
    "comity_ledger_reconciler_verdicts", "What was decided about running levels.", ("verdict",), registry=REGISTRY
)
_extractions = Counter(
    "comity_ledger_extractions", "What extractors gave for captured pages, by outcome.", ("outcome",), registry=REGISTRY
)
_busy = Counter("comity_ledger_database_busy", "Transactions that did not get in in time.", registry=REGISTRY)
_requests = Histogram(
    "comity_ledger_request_duration_seconds",
    "From the request's first byte to the answer's last, by the route that took it.",
    ("method", "route", "code"),
    buckets=SECONDS,
    registry=REGISTRY,
)


def page_settled(outcome: str) -> None:
    """A page got its outcome."""
    _pages.labels(outcome).inc()


def results_received(count: int) -> None:
    """A report came in."""
    _results.inc(count)


def stale_report(kind: str) -> None:
    """A report changed nothing."""
    _stale.labels(kind).inc()


def verdict(kind: str) -> None:
    """The reconciler judged a level."""
    _verdicts.labels(kind).inc()


def extractions(outcome: str, count: int) -> None:
    """So many (page, extractor) pairs are over: `extracted` or `failed`."""
    _extractions.labels(outcome).inc(count)


def database_busy() -> None:
    """A transaction gave up waiting."""
    _busy.inc()


def request(method: str, route: str, status: int, seconds: float) -> None:
    """A request was answered. `route` is the template, never the path itself."""
    _requests.labels(method if method in METHODS else "other", route, f"{status // 100}xx").observe(seconds)


def text(*, crawls: Mapping[str, int], free_bytes: int | None, unwritable: bool) -> bytes:
    """The whole page, with what is asked of the database and the disks just now."""
    for state in CRAWL_STATES:
        _crawls.labels(state).set(crawls.get(state, 0))
    if free_bytes is not None:
        _free.set(free_bytes)
    _unwritable.set(1 if unwritable else 0)
    return generate_latest(REGISTRY)
