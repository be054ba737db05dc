"""A queue of watched pages in memory, with the ledger's rules: one page to a host at a time, gaps, leases, tokens."""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from comity.contract.hosts import HostLease
from comity.contract.watch import WatchSettings
from comity.contract.watch_found import Diff, PageContent
from comity.contract.watch_queue import (
    Changed,
    FirstContent,
    Job,
    JobCompleted,
    JobDone,
    JobRenewed,
    JobsClaimed,
    JobState,
    NotModified,
    Unchanged,
    VisitOverrides,
)
from comity.polite.rules.robots import authority_of
from comity.watch.errors import QueueUnavailable


@dataclass
class Page:
    """A watched page. `told` are its diffs, `outcomes` the queue's words, in order."""

    page_id: str
    url: str
    host: str
    settings: WatchSettings
    due_s: float = 0
    state: JobState = field(default_factory=JobState)
    content: PageContent | None = None
    visit: VisitOverrides | None = None
    reports: list[JobDone] = field(default_factory=list)

    @property
    def outcomes(self) -> list[str]:
        return [report.outcome for report in self.reports]

    @property
    def told(self) -> list[Diff]:
        return [report.diff for report in self.reports if isinstance(report, Changed)]


@dataclass
class Lease:
    page: Page | None
    host: str
    until_s: float


class FakeQueue:
    """`add` pages, let workers at it. Each is due once, and again when `due_again` says so."""

    def __init__(self, *, gap_ms: int = 0, away: bool = False) -> None:
        self.gap_ms = gap_ms
        self.away = away
        self.pages: dict[str, Page] = {}
        self.leases: dict[str, Lease] = {}
        self.host_ready_s: dict[str, float] = {}
        self.given_back: list[str] = []
        self.stale = 0
        self.refuse_renewal = False
        self.lease_ms: int | None = None
        self._numbers = itertools.count(1)
        self._ready: list[Page] = []

    def add(self, url: str, settings: WatchSettings | None = None) -> Page:
        number = next(self._numbers)
        page = Page(f"w{number}", url, authority_of(url), settings or WatchSettings())
        self.pages[page.page_id] = page
        self._ready.append(page)
        return page

    def due_again(self, *pages: Page) -> None:
        self._ready.extend(pages)

    async def until_idle(self, budget_s: float = 60) -> None:
        """No page is due, none is held."""
        await self.until(lambda: not self._ready and not any(one.page for one in self.leases.values()), budget_s)

    async def until(self, holds: Callable[[], bool], budget_s: float = 60) -> None:
        ends_s = time.monotonic() + budget_s
        while not holds():
            assert time.monotonic() < ends_s, "not within the budget"
            await asyncio.sleep(0.01)

    # --- as the worker sees it

    async def claim(self, *, most: int, lease_ms: int, dry_run: bool) -> JobsClaimed:
        self._look()
        now_s = time.monotonic()
        busy = {lease.host for lease in self.leases.values()}
        taken: list[Page] = []
        for page in self._ready:
            if len(taken) == most:
                break
            if page.host not in busy:
                busy.add(page.host)
                taken.append(page)
        if taken:
            chosen = {page.page_id for page in taken}
            self._ready = [page for page in self._ready if page.page_id not in chosen]
        lease_ms = self.lease_ms or lease_ms
        return JobsClaimed(jobs=[self._job(page, now_s, lease_ms, dry_run) for page in taken], ask_again_ms=20)

    def _job(self, page: Page, now_s: float, lease_ms: int, dry_run: bool) -> Job:
        token = f"t{next(self._numbers)}"
        wait_ms = max(0, round((self.host_ready_s.get(page.host, 0) - now_s) * 1000 + 0.5))
        self.leases[token] = Lease(page, page.host, now_s + lease_ms / 1000)
        return Job.model_construct(
            token=token,
            page_id=page.page_id,
            organization="default",
            url=page.url,
            host=page.host,
            wait_ms=wait_ms,
            gap_ms=self.gap_ms,
            expires_in_ms=lease_ms,
            late_ms=0,
            crawl_delay_ms=None,
            settings=page.settings,
            visit=page.visit,
            state=page.state,
            dry_run=dry_run,
        )

    async def complete(self, jobs: Sequence[JobDone]) -> list[JobCompleted]:
        self._look()
        return [self._completed(job) for job in jobs]

    def _completed(self, job: JobDone) -> JobCompleted:
        lease = self.leases.pop(job.token, None)
        if lease is None or lease.page is None:
            self.stale += 1
            return JobCompleted.model_construct(token=job.token, accepted=False, why="stale", outcome=None)
        page = lease.page
        self.host_ready_s[page.host] = time.monotonic() + self.gap_ms / 1000
        page.reports.append(job)
        if isinstance(job, FirstContent | Changed | Unchanged):
            self._keep(page, job)
        elif isinstance(job, NotModified):
            page.state = page.state.model_copy(update={"last_visit_at": datetime.now(UTC)})
        return JobCompleted.model_construct(token=job.token, accepted=True, why=None, outcome=job.outcome)

    @staticmethod
    def _keep(page: Page, job: FirstContent | Changed | Unchanged) -> None:
        now = datetime.now(UTC)
        if job.content is not None:
            page.content = PageContent(
                page_id=page.page_id,
                sha256=job.content.sha256,
                text=job.content.text,
                fields=job.content.fields,
                seen_at=now,
            )
        assert page.content is not None
        lines = job.volatile_lines if job.volatile_lines is not None else page.state.volatile_lines
        page.state = JobState.model_construct(
            etag=job.etag,
            last_modified=job.last_modified,
            content_sha256=page.content.sha256,
            content_location=None,
            volatile_lines=lines,
            final_url=job.final_url,
            last_visit_at=now,
            last_change_at=None,
            visits=page.state.visits + 1,
            failures=0,
        )

    async def give_back(self, tokens: Sequence[str], *, timeout_ms: int) -> None:
        self._look()
        for token in tokens:
            lease = self.leases.pop(token, None)
            if lease is not None and lease.page is not None:
                self.given_back.append(lease.page.page_id)
                self._ready.append(lease.page)

    async def renew(self, tokens: Sequence[str], *, lease_ms: int) -> list[JobRenewed]:
        self._look()
        said = []
        for token in tokens:
            lease = self.leases.get(token)
            if lease is None or self.refuse_renewal:
                said.append(JobRenewed(token=token))
            else:
                lease.until_s = time.monotonic() + lease_ms / 1000
                said.append(JobRenewed(token=token, expires_in_ms=lease_ms))
        return said

    async def content(self, page_id: str) -> PageContent | None:
        self._look()
        return self.pages[page_id].content

    async def lease_host(self, host: str, token: str, *, delay_ms: int) -> HostLease | None:
        self._look()
        if any(lease.host == host for lease in self.leases.values()):
            return None
        name = f"h{next(self._numbers)}"
        self.leases[name] = Lease(None, host, time.monotonic() + 60)
        wait_ms = max(0, round((self.host_ready_s.get(host, 0) - time.monotonic()) * 1000 + 0.5))
        return HostLease(lease_id=name, wait_ms=wait_ms, gap_ms=delay_ms, expires_in_ms=60_000)

    async def release_host(self, lease_id: str, *, visited: bool) -> None:
        self._look()
        lease = self.leases.pop(lease_id, None)
        if lease is not None and visited:
            self.host_ready_s[lease.host] = time.monotonic() + self.gap_ms / 1000

    def _look(self) -> None:
        if self.away:
            raise QueueUnavailable("away")
