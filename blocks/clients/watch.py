"""The ledger's API of watched pages as typed calls: the queue that workers live by, and what people ask."""

from collections.abc import Iterator, Sequence

from blocks.clients.ledger import LedgerClient
from comity.contract.watch import (
    AddPages,
    ChangeList,
    ChangePage,
    Counts,
    Freshness,
    ListedPages,
    NewList,
    PagesAdded,
    VisitNow,
    WatchList,
    WatchLists,
    WatchPage,
    WatchPageList,
)
from comity.contract.watch_found import History, PageContent, PageEventDetail, PageEvents
from comity.contract.watch_preview import PagePreview, PreviewPage
from comity.contract.watch_queue import (
    MAX_JOBS,
    ClaimJobs,
    CompleteJobs,
    JobCompleted,
    JobDone,
    JobRenewed,
    JobReturned,
    JobsClaimed,
    JobsCompleted,
    JobsRenewed,
    JobsReturned,
    RenewJobs,
    ReturnJobs,
)

PREVIEW_TIMEOUT_MS = 120_000
MAX_REPORT_BYTES = 8 * 1024 * 1024
"""Half of what a ledger takes in one report unless it is told otherwise (LEDGER_MAX_REPORT_BYTES)."""


class WatchClient(LedgerClient):
    """The ledger at `url`, as watchers and those who keep pages see it. Every method raises a ServiceError.

    Thread-safe and blocking: a worker on an event loop calls it in a thread. Nothing is tried again here; each call of
    the queue may be repeated.
    """

    # --- the queue

    def claim(self, worker: str, *, most: int, lease_ms: int, dry_run: bool = False) -> JobsClaimed:
        """`POST /api/watch/queue/claim`: at most `most` jobs, and when to ask again."""
        order = ClaimJobs(worker=worker, max=most, lease_ms=lease_ms, dry_run=dry_run)
        return self.ask(JobsClaimed, "POST", "/api/watch/queue/claim", body=order)

    def complete(self, worker: str, jobs: Sequence[JobDone]) -> list[JobCompleted]:
        """`POST /api/watch/queue/complete`, in as many calls as sizes ask for; the answers in the order of `jobs`.

        Where a later call fails, those before it count: repeat all, or the rest.
        """
        said: list[JobCompleted] = []
        for part in _parts(jobs):
            order = CompleteJobs(worker=worker, jobs=part)
            said += self.ask(JobsCompleted, "POST", "/api/watch/queue/complete", body=order).jobs
        return said

    def return_jobs(self, tokens: Sequence[str], *, timeout_ms: int | None = None) -> list[JobReturned]:
        """`POST /api/watch/queue/return`: their sites were not asked for anything, and they are due as they were."""
        said: list[JobReturned] = []
        for first in range(0, len(tokens), MAX_JOBS):
            order = ReturnJobs(tokens=list(tokens[first : first + MAX_JOBS]))
            path = "/api/watch/queue/return"
            said += self.ask(JobsReturned, "POST", path, body=order, timeout_ms=timeout_ms).jobs
        return said

    def renew(self, tokens: Sequence[str], *, lease_ms: int) -> list[JobRenewed]:
        """`POST /api/watch/queue/renew`: `lease_ms` from now; a job without `expires_in_ms` is lost."""
        said: list[JobRenewed] = []
        for first in range(0, len(tokens), MAX_JOBS):
            order = RenewJobs(tokens=list(tokens[first : first + MAX_JOBS]), lease_ms=lease_ms)
            said += self.ask(JobsRenewed, "POST", "/api/watch/queue/renew", body=order).jobs
        return said

    # --- pages

    def add_pages(self, wanted: AddPages) -> PagesAdded:
        """`POST /api/watch/pages`."""
        return self.ask(PagesAdded, "POST", "/api/watch/pages", body=wanted)

    def watched_pages(
        self, *, after: str | None = None, limit: int = 100, label: str | None = None, url: str | None = None
    ) -> WatchPageList:
        """`GET /api/watch/pages`, oldest first: those with the label, or that of the URL."""
        query = {"after": after, "limit": limit, "label": label, "url": url}
        return self.ask(WatchPageList, "GET", "/api/watch/pages", query=query)

    def watched_page(self, page_id: str) -> WatchPage:
        """`GET /api/watch/pages/{id}`."""
        return self.ask(WatchPage, "GET", f"/api/watch/pages/{page_id}")

    def change_page(self, page_id: str, change: ChangePage) -> WatchPage:
        """`PATCH /api/watch/pages/{id}`."""
        return self.ask(WatchPage, "PATCH", f"/api/watch/pages/{page_id}", body=change)

    def remove_page(self, page_id: str) -> None:
        """`DELETE /api/watch/pages/{id}`, with its history and its events."""
        self.call("DELETE", f"/api/watch/pages/{page_id}")

    def preview(self, wanted: PreviewPage) -> PagePreview:
        """`POST /api/watch/preview`: what a visit would find. Takes up to two minutes: hosts are given their gaps."""
        return self.ask(PagePreview, "POST", "/api/watch/preview", body=wanted, timeout_ms=PREVIEW_TIMEOUT_MS)

    def visit_now(self, page_id: str) -> VisitNow:
        """`POST /api/watch/pages/{id}/visit`."""
        return self.ask(VisitNow, "POST", f"/api/watch/pages/{page_id}/visit")

    def content(self, page_id: str) -> PageContent:
        """`GET /api/watch/pages/{id}/content`: what the page is compared with. Raises ServiceRefused, 404, for none."""
        return self.ask(PageContent, "GET", f"/api/watch/pages/{page_id}/content")

    def history(self, page_id: str, *, before: str | None = None, limit: int = 100) -> History:
        """`GET /api/watch/pages/{id}/history`, newest first."""
        query = {"before": before, "limit": limit}
        return self.ask(History, "GET", f"/api/watch/pages/{page_id}/history", query=query)

    def page_events(self, page_id: str, *, before: str | None = None, limit: int = 100) -> PageEvents:
        """`GET /api/watch/pages/{id}/events`, newest first."""
        query = {"before": before, "limit": limit}
        return self.ask(PageEvents, "GET", f"/api/watch/pages/{page_id}/events", query=query)

    def page_event(self, page_id: str, event_id: str) -> PageEventDetail:
        """`GET /api/watch/pages/{id}/events/{eventId}`, with the diff."""
        return self.ask(PageEventDetail, "GET", f"/api/watch/pages/{page_id}/events/{event_id}")

    # --- lists, and how it goes

    def add_list(self, wanted: NewList) -> WatchList:
        """`POST /api/watch/lists`."""
        return self.ask(WatchList, "POST", "/api/watch/lists", body=wanted)

    def watch_lists(self) -> WatchLists:
        """`GET /api/watch/lists`."""
        return self.ask(WatchLists, "GET", "/api/watch/lists")

    def change_list(self, list_id: str, change: ChangeList) -> WatchList:
        """`PATCH /api/watch/lists/{id}`."""
        return self.ask(WatchList, "PATCH", f"/api/watch/lists/{list_id}", body=change)

    def remove_list(self, list_id: str) -> None:
        """`DELETE /api/watch/lists/{id}`: its pages stay."""
        self.call("DELETE", f"/api/watch/lists/{list_id}")

    def listed_pages(self, list_id: str, *, after: str | None = None, limit: int = 100) -> ListedPages:
        """`GET /api/watch/lists/{id}/pages`: the newest update first."""
        query = {"after": after, "limit": limit}
        return self.ask(ListedPages, "GET", f"/api/watch/lists/{list_id}/pages", query=query)

    def freshness(self, list_id: str) -> Freshness:
        """`GET /api/watch/lists/{id}/freshness`."""
        return self.ask(Freshness, "GET", f"/api/watch/lists/{list_id}/freshness")

    def counts(self) -> Counts:
        """`GET /api/watch/counts`: Processing | Delayed | Queued."""
        return self.ask(Counts, "GET", "/api/watch/counts")


def _parts(jobs: Sequence[JobDone]) -> Iterator[list[JobDone]]:
    """Reports that fit into one call. One that is larger alone goes alone."""
    part: list[JobDone] = []
    size_bytes = 0
    for job in jobs:
        job_bytes = len(job.model_dump_json(by_alias=True, exclude_none=True).encode())
        if part and (len(part) == MAX_JOBS or size_bytes + job_bytes > MAX_REPORT_BYTES):
            yield part
            part, size_bytes = [], 0
        part.append(job)
        size_bytes += job_bytes
    if part:
        yield part
