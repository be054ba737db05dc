"""The ledger's API as typed calls, one method each."""

from collections.abc import Sequence
from typing import Any

import httpx

from blocks.clients.errors import CrawlInTheWayError, HostTakenError, ServiceRefused
from blocks.clients.extraction_calls import ExtractionCalls
from blocks.clients.service import code_of, json_of
from comity.contract.audit import AuditPage
from comity.contract.hosts import (
    HostLease,
    HostLeased,
    LeaseHost,
    LeaseReleased,
    LeaseRenewed,
    ReleaseLease,
    RenewLease,
)
from comity.contract.identity import CreateToken, Me, TokenCreated, TokenList
from comity.contract.ledger import (
    CRAWL_IN_THE_WAY,
    AddScript,
    AddTargets,
    ArchiveList,
    ArchiveUrl,
    CaughtUp,
    ChangeScript,
    ChangeTarget,
    CloseLevel,
    CrawlInTheWay,
    CrawlList,
    CrawlStarted,
    CrawlView,
    IndexAnswer,
    LedgerHealth,
    LevelClosed,
    PageList,
    PageState,
    ReportResults,
    ResultsAnswer,
    RunFailed,
    RunFailedAnswer,
    ScriptDetail,
    ScriptList,
    ScriptView,
    SearchAnswer,
    StartCrawl,
    TargetList,
    TargetsAdded,
    TargetView,
    WorkOrder,
)

GATE_TIMEOUT_MS = 10_000
"""The gate answers in milliseconds, and a run that is to stop waits for its call to end."""


class LedgerClient(ExtractionCalls):
    """The ledger at `url`. Every method raises a ServiceError (see `blocks.clients.errors`) where it fails.

    Thread-safe. Nothing is tried again here: who calls knows the budget.
    """

    part = "ledger"

    def health(self) -> LedgerHealth:
        """`GET /healthz`, without a token's rights."""
        return self.ask(LedgerHealth, "GET", "/healthz")

    def me(self) -> Me:
        """`GET /api/me`: whom the token speaks for."""
        return self.ask(Me, "GET", "/api/me")

    # --- tokens

    def create_token(self, wanted: CreateToken) -> TokenCreated:
        """`POST /api/tokens`: the only answer that holds the token."""
        return self.ask(TokenCreated, "POST", "/api/tokens", body=wanted)

    def tokens(self) -> TokenList:
        """`GET /api/tokens`: those that the caller may revoke."""
        return self.ask(TokenList, "GET", "/api/tokens")

    def revoke_token(self, token_id: str) -> None:
        """`DELETE /api/tokens/{id}`: from now on it lets nobody in."""
        self.call("DELETE", f"/api/tokens/{token_id}")

    # --- crawls

    def start_crawl(self, wanted: StartCrawl, *, idempotency_key: str | None = None) -> CrawlStarted:
        """`POST /api/crawls`. The same key gets the same answer. Raises CrawlInTheWayError where one runs already."""
        headers = {"idempotency-key": idempotency_key} if idempotency_key else None
        return self.ask(CrawlStarted, "POST", "/api/crawls", body=wanted, headers=headers)

    def crawls(self) -> CrawlList:
        """`GET /api/crawls`, newest first."""
        return self.ask(CrawlList, "GET", "/api/crawls")

    def crawl(self, crawl_id: str) -> CrawlView:
        """`GET /api/crawls/{id}`."""
        return self.ask(CrawlView, "GET", f"/api/crawls/{crawl_id}")

    def pages(self, crawl_id: str, *, depth: int | None = None, state: PageState | None = None) -> PageList:
        """`GET /api/crawls/{id}/pages`: page rows with their visits."""
        return self.ask(PageList, "GET", f"/api/crawls/{crawl_id}/pages", query={"depth": depth, "state": state})

    def cancel(self, crawl_id: str) -> None:
        """`POST /api/crawls/{id}/cancel`: stop it and its run; what was captured stays."""
        self.call("POST", f"/api/crawls/{crawl_id}/cancel")

    # --- one level

    def work_order(self, crawl_id: str, depth: int, *, attempt: int, run_id: str) -> WorkOrder:
        """`GET /api/crawls/{id}/levels/{depth}`. ServiceRefused with 409 where the run is not the current one."""
        return self.ask(
            WorkOrder,
            "GET",
            f"/api/crawls/{crawl_id}/levels/{depth}",
            query={"attempt": attempt, "runId": run_id},
        )

    def results(self, crawl_id: str, report: ReportResults) -> ResultsAnswer:
        """`POST /api/crawls/{id}/results`: finished pages, any number of times."""
        return self.ask(ResultsAnswer, "POST", f"/api/crawls/{crawl_id}/results", body=report)

    def close_level(self, crawl_id: str, closing: CloseLevel) -> LevelClosed:
        """`POST /api/crawls/{id}/pages`. A repeat returns the stored answer."""
        return self.ask(LevelClosed, "POST", f"/api/crawls/{crawl_id}/pages", body=closing, timeout_ms=120_000)

    def failed(self, crawl_id: str, report: RunFailed, *, timeout_ms: int | None = None) -> RunFailedAnswer:
        """`POST /api/crawls/{id}/failed`: the run is over without having closed its level."""
        path = f"/api/crawls/{crawl_id}/failed"
        return self.ask(RunFailedAnswer, "POST", path, body=report, timeout_ms=timeout_ms)

    def index(self, crawl_id: str) -> IndexAnswer:
        """`POST /api/crawls/{id}/index`: make its captured pages searchable; how many of them are."""
        return self.ask(IndexAnswer, "POST", f"/api/crawls/{crawl_id}/index")

    # --- archives and search

    def search(self, query: str, *, limit: int | None = None) -> SearchAnswer:
        """`GET /api/search`: words, and phrases in double quotes."""
        return self.ask(SearchAnswer, "GET", "/api/search", query={"q": query, "limit": limit})

    def archives(self, *, before: str | None = None, limit: int | None = None) -> ArchiveList:
        """`GET /api/archives`, newest first; `before` is the `next` of the answer before."""
        return self.ask(ArchiveList, "GET", "/api/archives", query={"before": before, "limit": limit})

    def archive_url(self, archive_id: str) -> ArchiveUrl:
        """`POST /api/archives/{id}/url`: a URL that reads the archive for a short time."""
        return self.ask(ArchiveUrl, "POST", f"/api/archives/{archive_id}/url")

    def reconcile(self, crawl_id: str | None = None) -> CaughtUp:
        """`POST /api/reconcile`, or that of one crawl: make good what was missed, as far as one call gets."""
        path = "/api/reconcile" if crawl_id is None else f"/api/crawls/{crawl_id}/reconcile"
        return self.ask(CaughtUp, "POST", path, timeout_ms=120_000)

    # --- the host gate

    def lease_host(self, wanted: LeaseHost) -> HostLease:
        """`POST /api/hosts/lease`. Raises HostTakenError where it is not the holder's turn, or its work is over."""
        return self.ask(HostLease, "POST", "/api/hosts/lease", body=wanted, timeout_ms=GATE_TIMEOUT_MS)

    def renew_host(self, lease: RenewLease) -> LeaseRenewed:
        """`POST /api/hosts/renew`. Raises HostTakenError where the host is not the holder's any more."""
        return self.ask(LeaseRenewed, "POST", "/api/hosts/renew", body=lease, timeout_ms=GATE_TIMEOUT_MS)

    def release_host(self, lease: ReleaseLease) -> LeaseReleased:
        """`POST /api/hosts/release`. A repeat changes nothing."""
        return self.ask(LeaseReleased, "POST", "/api/hosts/release", body=lease, timeout_ms=GATE_TIMEOUT_MS)

    def audit(self, crawl_id: str | None = None, *, after: str = "") -> AuditPage:
        """`GET /api/audit`: some hosts of one crawl, or of all; go on with the answer's `next` as `after`."""
        return self.ask(AuditPage, "GET", "/api/audit", query={"crawl": crawl_id, "after": after or None})

    # --- targets and scripts

    def targets(self, *, labels: Sequence[str] = (), enabled: bool | None = None) -> TargetList:
        """`GET /api/targets`: those that have every one of the labels."""
        query = {"label": list(labels), "enabled": None if enabled is None else str(enabled).lower()}
        return self.ask(TargetList, "GET", "/api/targets", query=query)

    def add_targets(self, wanted: AddTargets) -> TargetsAdded:
        """`POST /api/targets`: all or none."""
        return self.ask(TargetsAdded, "POST", "/api/targets", body=wanted)

    def change_target(self, target_id: str, change: ChangeTarget) -> TargetView:
        """`PATCH /api/targets/{id}`."""
        return self.ask(TargetView, "PATCH", f"/api/targets/{target_id}", body=change)

    def remove_target(self, target_id: str) -> None:
        """`DELETE /api/targets/{id}`."""
        self.call("DELETE", f"/api/targets/{target_id}")

    def scripts(self) -> ScriptList:
        """`GET /api/scripts`: the newest version of each, without sources."""
        return self.ask(ScriptList, "GET", "/api/scripts")

    def script(self, script_id: str, *, version: int | None = None) -> ScriptDetail:
        """`GET /api/scripts/{id}`: the newest version, or another one, with its source."""
        return self.ask(ScriptDetail, "GET", f"/api/scripts/{script_id}", query={"version": version})

    def add_script(self, wanted: AddScript) -> ScriptView:
        """`POST /api/scripts`: a new version."""
        return self.ask(ScriptView, "POST", "/api/scripts", body=wanted)

    def change_script(self, script_id: str, change: ChangeScript) -> ScriptView:
        """`PATCH /api/scripts/{id}`."""
        return self.ask(ScriptView, "PATCH", f"/api/scripts/{script_id}", body=change)

    def remove_script(self, script_id: str) -> None:
        """`DELETE /api/scripts/{id}`: crawls that pinned it keep it."""
        self.call("DELETE", f"/api/scripts/{script_id}")

    def refusal(self, call: str, response: httpx.Response) -> ServiceRefused:
        """A 409 of a start names the crawl in the way, one of the gate when to ask again; the rest is plain."""
        body: Any = json_of(response)
        if call == "POST /api/crawls" and code_of(body) == CRAWL_IN_THE_WAY:
            crawl = self.read(call, lambda: CrawlInTheWay.model_validate(body))
            return CrawlInTheWayError(self.part, self.url, call=call, message=crawl.error, crawl=crawl, body=body)
        if call.startswith("POST /api/hosts/") and response.status_code == 409:
            taken = self.read(call, lambda: HostLeased.model_validate(body))
            return HostTakenError(self.part, self.url, call=call, taken=taken, body=body)
        return super().refusal(call, response)
