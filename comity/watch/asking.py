"""Requests of one job: each at its time, under a lease of its host, allowed by robots.txt, and on record."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from comity.contract.hosts import HostLease
from comity.contract.watch_queue import MAX_VISITS_OF_A_JOB, SiteVisit
from comity.polite.client import Fetched, FetchFailure, GuardedClient
from comity.polite.errors import NotAWebUrlError
from comity.polite.rules.robots import authority_of, origin_of
from comity.watch.ports import Clock, Hold, Queue
from comity.watch.robots_book import FetchRobots, RobotsBook, RobotsSaid
from comity.watch.tracing import PageTrace
from comity.watch.visit_settings import VisitSettings

_NOT_SENT = frozenset({"E_URL_INVALID", "E_URL_POLICY", "E_HTTP_REQUEST"})
"""Failures of which no site knows, unless a redirect came before."""
SLACK_MS = 5_000
"""A lease outlasts the fetch by so much: what is left of it carries the report."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way out: straight, or through a proxy."""

    client: GuardedClient
    fetch_robots: FetchRobots


@dataclass(frozen=True, slots=True)
class Outside:
    """What all jobs of a worker share. `by_proxy`: the ways of pages that name a proxy."""

    client: GuardedClient
    book: RobotsBook
    fetch_robots: FetchRobots
    queue: Queue
    clock: Clock
    by_proxy: Mapping[str, Route] = field(default_factory=dict)

    def route(self, proxy: str | None) -> Route | None:
        """The way for a page; None where it names a proxy that this worker does not know."""
        return Route(self.client, self.fetch_robots) if proxy is None else self.by_proxy.get(proxy)


class Forbidden(Exception):  # noqa: N818  says what is so
    """The page may not be asked for, or not now."""


@dataclass(slots=True)
class _Led:
    """Another host, which a redirect led to."""

    host: str
    lease: HostLease
    visited: bool = False
    began_at: datetime | None = None
    began_ms: int = 0


class Asking:
    """The requests of one job, one after another. `crawl_delay_ms` is what its host asked for; None: not known."""

    def __init__(self, outside: Outside, hold: Hold, settings: VisitSettings, trace: PageTrace) -> None:
        self._outside = outside
        self._hold = hold
        self._settings = settings
        self._trace = trace
        self._ended_ms: int | None = None
        self._led: list[_Led] = []
        self.crawl_delay_ms: int | None = None
        self.waited_ms = 0

    @property
    def gap_ms(self) -> int:
        """Between two requests to the job's host."""
        return max(self._hold.job.gap_ms, self.crawl_delay_ms or self._hold.job.crawl_delay_ms or 0)

    async def robots(self) -> None:
        """What the host's robots.txt says about the page; asked where it is not known. Raises Forbidden."""
        job = self._hold.job
        self._route_of(job.settings.proxy)
        try:
            said = self._outside.book.known(job.url)
        except NotAWebUrlError as error:
            raise Forbidden(str(error)) from None
        if said is None:
            said = await self._asked_for_robots(job.url)
        self.crawl_delay_ms = said.crawl_delay_ms
        self._obey(said)
        if self._hold.visits and self.gap_ms > self._settings.max_wait_ms:
            raise Forbidden(
                f"the host wants {self.gap_ms} ms between its robots.txt and a page; the page comes next time"
            )

    async def get(self, headers: Mapping[str, str], *, not_before_ms: int = 0) -> Fetched | FetchFailure:
        """The page, `not_before_ms` after the last request at the soonest. Raises PageDropped before it is sent."""
        job = self._hold.job
        await self._rest(not_before_ms)
        await self._hold.outlast(self._settings.total_ms + SLACK_MS)
        with self._trace.step("fetch") as facts:
            facts["url.full"] = job.url
            began_at, began_ms = self._outside.clock.now(), self._hold.since_claim_ms()
            asked, self._hold.asked = self._hold.asked, True
            seen, said = True, "stopped"
            try:
                got = await self._route_of(job.settings.proxy).client.get(
                    job.url, headers=headers, limits=self._settings.limits, on_redirect=self._may_follow
                )
                said = str(got.status) if isinstance(got, Fetched) else got.code
                seen = isinstance(got, Fetched) or got.code not in _NOT_SENT or bool(got.redirects)
            finally:
                facts["comity.outcome"] = said
                self._hold.asked = asked or seen
                if seen:
                    self._record(job.url, began_at, began_ms, said)
                for led in self._led:
                    self._finish(led, f"http://{led.host}/", said)
        return got

    async def close(self) -> None:
        """Give back the hosts that redirects led to."""
        all_led, self._led = self._led, []
        for led in all_led:
            await self._outside.queue.release_host(led.lease.lease_id, visited=led.visited)

    async def _asked_for_robots(self, url: str) -> RobotsSaid:
        origin = origin_of(url)
        await self._rest()
        await self._hold.outlast(self._settings.total_ms + SLACK_MS)
        with self._trace.step("robots") as facts:
            began_at, began_ms = self._outside.clock.now(), self._hold.since_claim_ms()
            self._hold.asked = True
            said = "stopped"
            try:
                fetched = await self._route_of(self._hold.job.settings.proxy).fetch_robots(origin)
                said = str(fetched.http_status or fetched.outcome)
            finally:
                facts["comity.outcome"] = said
                self._record(f"{origin}/robots.txt", began_at, began_ms, said)
        self._outside.book.keep(fetched)
        known = self._outside.book.known(url)
        assert known is not None
        return known

    def _route_of(self, proxy: str | None) -> Route:
        route = self._outside.route(proxy)
        if route is None:
            raise Forbidden(
                f"the page names the proxy {proxy!r}, which COMITY_WATCH_PROXIES of this worker does not have"
            )
        return route

    @staticmethod
    def _obey(said: RobotsSaid) -> None:
        if not said.verdict.allowed:
            raise Forbidden(f"{said.verdict.reason}: {said.verdict.detail}")

    def _record(self, url: str, began_at: datetime, began_ms: int, said: str, lease_id: str | None = None) -> None:
        if lease_id is None:
            self._ended_ms = self._hold.since_claim_ms() + 1  # rounded down, it would be a gap too short
        if len(self._hold.visits) < MAX_VISITS_OF_A_JOB:
            self._hold.visits.append(
                SiteVisit(
                    url=url[:2048],
                    submitted_at=began_at,
                    finished_at=self._outside.clock.now(),
                    waited_ms=began_ms,
                    lease_id=lease_id,
                    outcome=said,
                )
            )

    async def _rest(self, at_least_ms: int = 0) -> None:
        """Until the host may be asked (again): the gap counts from the end of what was asked before."""
        gap_ms = max(self.gap_ms, at_least_ms)
        until_ms = self._hold.job.wait_ms if self._ended_ms is None else self._ended_ms + gap_ms
        self.waited_ms += max(0, until_ms - self._hold.since_claim_ms())
        await self._hold.rest(until_ms)

    # --- redirects

    async def _may_follow(self, _: str, target: str) -> str | None:
        """Asked before each redirect. Another host has a robots.txt and a lease of its own."""
        try:
            host = authority_of(target)
        except NotAWebUrlError as error:
            return str(error)
        if host != self._hold.job.host and all(led.host != host for led in self._led):
            reason = await self._enter(host, target)
            if reason is not None:
                return reason
        said = self._outside.book.known(target)
        return None if said is None or said.verdict.allowed else f"{said.verdict.reason}: {said.verdict.detail}"

    async def _enter(self, host: str, target: str) -> str | None:
        """Lease the host and wait for its turn. A text is why not."""
        job = self._hold.job
        lease = await self._outside.queue.lease_host(host, job.token, delay_ms=job.gap_ms)
        if lease is None:
            return f"redirected to {host}, which somebody else is visiting"
        led = _Led(host, lease)
        self._led.append(led)
        budget_ms = self._settings.total_ms // 3
        if lease.wait_ms > budget_ms:
            return f"redirected to {host}, which is to rest for {lease.wait_ms} ms"
        await asyncio.sleep(lease.wait_ms / 1000)
        if self._outside.book.known(target) is None:
            origin = origin_of(target)
            self._begin(led)
            fetched = await self._outside.fetch_robots(origin)
            self._outside.book.keep(fetched)
            self._finish(led, f"{origin}/robots.txt", str(fetched.http_status or fetched.outcome))
            known = self._outside.book.known(target)
            gap_ms = max(lease.gap_ms, known.crawl_delay_ms if known else 0)
            if gap_ms > budget_ms:
                return f"redirected to {host}, which wants {gap_ms} ms between two requests; it is followed next time"
            await asyncio.sleep(gap_ms / 1000)
        self._begin(led)
        return None

    def _begin(self, led: "_Led") -> None:
        led.visited = True
        led.began_at, led.began_ms = self._outside.clock.now(), self._hold.since_claim_ms()

    def _finish(self, led: "_Led", url: str, said: str) -> None:
        if led.began_at is not None:
            self._record(url, led.began_at, led.began_ms, said, led.lease.lease_id)
            led.began_at = None
