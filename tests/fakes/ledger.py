"""A ledger in memory: one level of one crawl, checked with the contract's own models."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from comity.contract.hosts import LeaseHost, ReleaseLease
from comity.contract.ledger import CloseLevel, PageResult, ReportResults, RunFailed, SitemapRead, StartCrawl, WorkOrder
from comity.contract.scripts import PinnedScript, sha256_of
from tests.fakes.http_server import Asked, FakeServer, Reply

FORMATS = {"png": False, "webp": False, "html": True, "links": True, "mhtml": False, "wacz": True}
TOKEN = "flows-token"
CRAWL = "c0000000000000001"


def script(name: str = "autoscroll", phase: str = "behavior", source: str = "scroll();") -> dict[str, Any]:
    """A pinned script as it travels."""
    pinned = PinnedScript.model_validate(
        {"id": name, "version": 1, "phase": phase, "source": source, "sha256": sha256_of(source), "options": {"a": 1}}
    )
    return pinned.to_wire()


def work_order(
    urls: Sequence[str],
    *,
    depth: int = 0,
    attempt: int = 1,
    delay_ms: int = 0,
    idle_ms: int | None = None,
    respect_robots: bool = False,
    scripts: Sequence[dict[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A work order for these URLs."""
    order = {
        "crawlId": CRAWL,
        "depth": depth,
        "attempt": attempt,
        "frontier": [
            {"pageId": f"p{number}", "url": url, "host": url.split("/")[2], "hostIdleMs": idle_ms}
            for number, url in enumerate(urls)
        ],
        "perHostDelayMs": delay_ms,
        "hostParallelism": 4,
        "respectRobots": respect_robots,
        "sitemaps": False,
        "maxHostDelayMs": 600_000,
        "capture": {"formats": FORMATS, "signing": False},
        "scripts": list(scripts),
        "artifactSink": None,
    } | more
    WorkOrder.model_validate(order)
    return order


class FakeLedger(FakeServer):
    """Hands out `order` and takes what comes back. `answers` overrides a call by the end of its path."""

    def __init__(self, order: dict[str, Any] | None = None, *, port: int = 0) -> None:
        self.order = order
        self.answers: dict[str, Callable[[Asked], Reply]] = {}
        self.results: list[PageResult] = []
        self.sitemaps: list[SitemapRead] = []
        self.beats = 0
        self.closings: list[CloseLevel] = []
        self.failures: list[RunFailed] = []
        self.starts: list[StartCrawl] = []
        self.leases: list[LeaseHost] = []
        self.released: list[ReleaseLease] = []
        self.renewed: list[str] = []
        self.wait_ms = 0
        self.gap_ms = 0
        """What the next leases ask for; they are always given."""
        self.expires_in_ms = 300_000
        self.stop: str | None = None
        self._kept = threading.Lock()
        super().__init__(self._answer, port=port)

    def _answer(self, asked: Asked) -> Reply:
        if asked.path != "/healthz" and asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply(401, {"error": "no token or a wrong one"})
        ending = f"{asked.method} /{asked.path.rsplit('/', 1)[-1]}"
        if ending in self.answers:
            return self.answers[ending](asked)
        if "/levels/" in asked.path:
            return self._work_order(asked)
        calls: dict[str, Callable[[Asked], Reply]] = {
            "POST /results": self._results,
            "POST /pages": self._close,
            "POST /failed": self._failed,
            "POST /lease": self._lease,
            "POST /renew": self._renew,
            "POST /release": self._release,
            "POST /index": lambda asked: Reply(202, {"indexed": 0, "pages": 0}),
        }
        if ending not in calls:
            return Reply(404, {"error": "there is no such thing"})
        return calls[ending](asked)

    def _work_order(self, asked: Asked) -> Reply:
        if self.order is None or f"attempt={self.order['attempt']}" not in asked.query:
            return Reply(409, {"error": "attempt 1 of level 0 is not current"})
        return Reply(body=self.order)

    def _results(self, asked: Asked) -> Reply:
        report = ReportResults.model_validate(asked.body)
        with self._kept:
            self.results += report.results
            self.sitemaps += report.sitemaps or []
            self.beats += not (report.results or report.sitemaps)
        return Reply(body={"stop": self.stop is not None} | ({"reason": self.stop} if self.stop else {}))

    def _close(self, asked: Asked) -> Reply:
        closing = CloseLevel.model_validate(asked.body)
        told = {one.page_id for one in self.results} | {one.page_id for one in closing.results}
        missing = [page["pageId"] for page in (self.order or {})["frontier"] if page["pageId"] not in told]
        if missing:
            return Reply(409, {"error": "pages without an outcome", "missing": missing})
        self.closings.append(closing)
        return Reply(body={"next": [], "stopReason": "completed"})

    def _lease(self, asked: Asked) -> Reply:
        wanted = LeaseHost.model_validate(asked.body)
        with self._kept:
            self.leases.append(wanted)
            number = len(self.leases)
        gap_ms = max(wanted.delay_ms, self.gap_ms)
        lease = {"leaseId": f"l{number}", "waitMs": self.wait_ms, "gapMs": gap_ms, "expiresInMs": self.expires_in_ms}
        return Reply(body=lease)

    def _renew(self, asked: Asked) -> Reply:
        with self._kept:
            self.renewed.append(asked.body["leaseId"])
        return Reply(body={"expiresInMs": self.expires_in_ms})

    def _release(self, asked: Asked) -> Reply:
        with self._kept:
            self.released.append(ReleaseLease.model_validate(asked.body))
        return Reply(body={"released": True})

    def _failed(self, asked: Asked) -> Reply:
        self.failures.append(RunFailed.model_validate(asked.body))
        return Reply(body={"closed": True})


def taken(asked: Asked, *, stop: bool = False, code: str = "host-leased", retry_after_ms: int = 10) -> Reply:
    """The gate's 409."""
    return Reply(409, {"error": "others have it", "code": code, "retryAfterMs": retry_after_ms, "stop": stop})


def crawl_view(state: str, **more: Any) -> dict[str, Any]:
    """`GET /api/crawls/{id}` in a state."""
    return {
        "id": CRAWL,
        "state": state,
        "seeds": ["http://a.test/"],
        "policy": {
            "scope": "same-origin",
            "maxDepth": 0,
            "maxPages": 30,
            "perHostDelayMs": 0,
            "hostParallelism": 4,
            "respectRobots": True,
            "capture": {},
        },
        "counts": {"pending": 0, "captured": 1, "failed": 0, "skipped": 0},
        "startedAt": "2030-01-01T00:00:00.000Z",
        "failures": [],
        "scripts": [],
    } | more
