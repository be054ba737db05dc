"""What `/metrics` tells of watching. Gauges are asked for when the page is; counters are this process's."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import Counter, Gauge, Histogram

from comity.contract.watch import OLD_SYSTEM, OURS
from ledger.metrics import REGISTRY
from ledger.rules.watch_tally import LaneFigures

DELAYS_S = (60, 300, 900, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86_400, 3 * 86_400, 7 * 86_400, 30 * 86_400)
RECENT = 1_000
LANES = {OURS: "visits", OLD_SYSTEM: "rehearsal"}

_pages = Gauge(
    "comity_watch_pages", "Watched pages, by version and place in the queue.", ("version", "place"), registry=REGISTRY
)
_late = Gauge("comity_watch_late_pages", "Pages due in a minute that is over.", ("lane",), registry=REGISTRY)
_oldest = Gauge(
    "comity_watch_oldest_late_seconds", "How long the first late page is due.", ("lane",), registry=REGISTRY
)
_in_progress = Gauge("comity_watch_in_progress", "Pages in flight.", ("lane",), registry=REGISTRY)
_hosts = Gauge(
    "comity_watch_hosts", "Hosts with pages that are due, by state; 10000 is many.", ("state",), registry=REGISTRY
)
_reports = Counter("comity_watch_reports", "Reports of visits that count, by outcome.", ("outcome",), registry=REGISTRY)
_failures = Counter("comity_watch_failures", "Failed visits, by code.", ("code",), registry=REGISTRY)
_ratio = Gauge(
    "comity_watch_recent_ratio", f"Share of the last {RECENT} visits here, by outcome.", ("outcome",), registry=REGISTRY
)
_expired = Counter("comity_watch_leases_expired", "Jobs that ended without a report.", registry=REGISTRY)
_returned = Counter("comity_watch_jobs_returned", "Jobs that were given back unvisited.", registry=REGISTRY)
_stale = Counter("comity_watch_stale_completions", "Reports that were refused.", ("why",), registry=REGISTRY)
_delay = Histogram(
    "comity_watch_detection_delay_seconds",
    "From the visit before to the one that found a change: no change was unknown for longer.",
    buckets=DELAYS_S,
    registry=REGISTRY,
)
_lateness = Histogram(
    "comity_watch_lateness_seconds", "How late pages were claimed.", buckets=(1, 10, *DELAYS_S), registry=REGISTRY
)

KNOWN_CODES = frozenset(
    (
        "E_URL_INVALID",
        "E_URL_POLICY",
        "E_HTTP_REQUEST",
        "E_HTTP_FETCH",
        "E_HTTP_READ",
        "E_HTTP_BODY_TOO_LARGE",
        "E_HTTP_STATUS",
        "E_TIMEOUT",
    )
)
_recent: deque[str] = deque(maxlen=RECENT)


@dataclass(frozen=True)
class Figures:
    """What the database says just now."""

    lanes: Mapping[int, LaneFigures]
    ready: int
    resting: int


def reported(outcome: str, *, code: str | None, late_s: float) -> None:
    """A report counts."""
    _reports.labels(outcome).inc()
    _recent.append(outcome)
    _lateness.observe(late_s)
    if code is not None:
        _failures.labels(code if code in KNOWN_CODES else "other").inc()


def detected(delay_s: float | None) -> None:
    """A change was found, so long after the visit before it."""
    if delay_s is not None:
        _delay.observe(max(0.0, delay_s))


def refused(why: str) -> None:
    """A report changed nothing."""
    _stale.labels(why).inc()


def leases_expired(count: int) -> None:
    """Nobody reported these jobs."""
    _expired.inc(count)


def returned(count: int) -> None:
    """Jobs came back."""
    _returned.inc(count)


def show(figures: Figures) -> None:
    """Set the gauges."""
    for lane, name in LANES.items():
        found = figures.lanes.get(lane, LaneFigures())
        _late.labels(name).set(found.delayed)
        _oldest.labels(name).set(found.oldest_late_ms / 1000)
        _in_progress.labels(name).set(found.processing)
        for place, count in _places(found):
            _pages.labels(str(lane), place).set(count)
    _hosts.labels("ready").set(figures.ready)
    _hosts.labels("resting").set(figures.resting)
    _hosts.labels("leased").set(figures.lanes.get(OURS, LaneFigures()).processing)
    recent = list(_recent)
    for outcome in ("not-modified", "changed"):
        _ratio.labels(outcome).set(recent.count(outcome) / len(recent) if recent else 0)


def _places(found: LaneFigures) -> Iterable[tuple[str, int]]:
    yield "queued", found.queued
    yield "delayed", found.delayed
    yield "processing", found.processing
    yield "paused", found.paused
