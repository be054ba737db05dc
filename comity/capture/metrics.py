"""What `/metrics` tells, in Prometheus' text format. Counted over the life of this process."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from comity.contract.capture import CaptureReport

SECONDS = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 130)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One per server; a registry of its own, so that nothing of other libraries is told."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        self._captures = Counter(
            "comity_captures",
            "Captures that ended, by outcome and, where they failed, by the type of error.",
            ("status", "error_type"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "comity_capture_duration_seconds",
            "From taking the request to having its artifacts, before the manifest.",
            registry=self._registry,
            buckets=SECONDS,
        )
        self._refused = Counter(
            "comity_capture_requests_refused",
            "Requests that no capture came of, by the HTTP status they were answered with.",
            ("code",),
            registry=self._registry,
        )
        self._recorded = Counter(
            "comity_capture_responses_recorded", "Responses written to archives.", registry=self._registry
        )
        self._bytes = Counter(
            "comity_capture_body_bytes", "Bytes of bodies written to archives.", registry=self._registry
        )
        self._blocked = Counter(
            "comity_capture_requests_blocked", "Requests of pages that a policy denied.", registry=self._registry
        )
        self._incomplete = Counter(
            "comity_capture_incomplete", "Archives that lack bodies or parts of them.", registry=self._registry
        )
        self._manifests = Counter(
            "comity_capture_manifests_lost", "Manifests that could not be written.", registry=self._registry
        )
        self.busy = Gauge("comity_capture_busy", "1 while a capture is under way.", registry=self._registry)
        self.connected = Gauge("comity_capture_browser_connected", "1 while a browser runs.", registry=self._registry)
        self.browser_starts = Gauge(
            "comity_capture_browser_starts", "Browsers started so far.", registry=self._registry
        )

    def count(self, report: CaptureReport, *, manifest_kept: bool) -> None:
        """One capture is over."""
        self._captures.labels(report.status, report.error_details.type if report.error_details else "").inc()
        self._seconds.observe(report.capture_processing_time_ms / 1000)
        if report.wacz_stats is not None:
            self._recorded.inc(report.wacz_stats.total_recorded)
            self._bytes.inc(report.wacz_stats.total_body_bytes)
            self._blocked.inc(report.wacz_stats.total_blocked)
        if report.completeness is not None and not report.completeness.complete:
            self._incomplete.inc()
        if not manifest_kept:
            self._manifests.inc()

    def count_refusal(self, code: int) -> None:
        """A request was refused."""
        self._refused.labels(str(code)).inc()

    def text(self) -> bytes:
        """The whole page."""
        return generate_latest(self._registry)
