"""`POST /api/watch/preview`: the ledger looks at a page itself, guarded, and in its host's turn like everybody else."""

import asyncio
from dataclasses import replace
from functools import partial

from anyio import to_thread

from comity.contract.hosts import HOST_LEASED, HostLease
from comity.contract.watch import ByExtractor
from comity.contract.watch_preview import PagePreview, PreviewPage
from comity.extract.page_fields import PageFields
from comity.polite.answers import GetLimits
from comity.polite.client import GuardedClient
from comity.polite.egress import Egress
from comity.polite.errors import NotAWebUrlError
from comity.polite.robots import fetch_robots
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.rules.robots import authority_of
from comity.polite.trust import TlsTrust, system_trust
from comity.watch.asking import Outside
from comity.watch.errors import BadWatchSettings
from comity.watch.ports import Clock as WatchClock
from comity.watch.ports import Queue
from comity.watch.preview import PREVIEW_VISITS, Turn, preview
from comity.watch.reading import PageReading
from comity.watch.robots_book import RobotsBook
from ledger.clock import Clock
from ledger.errors import BadInput, HostTaken
from ledger.ids import new_id
from ledger.rules import host_gate
from ledger.rules.host_gate import Holder, LeaseEnd, Refusal
from ledger.rules.scope import frontier_url
from ledger.services.host_gate import PREVIEW
from ledger.services.watch_settings import SettingsCheck
from ledger.store import hosts
from ledger.store.database import Store

AT_ONCE = 4
LONGEST_WAIT_MS = 15_000
LEASE_MS = 120_000
READ_S = 5.0
EXTRACT_S = 15.0
"""A program has 10 s, and is run in a process of its own: this one's event loop is everybody's."""


class PreviewService:
    """Looks at pages: a few at once, each in its host's turn."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        egress: EgressRules,
        delay_ms: int,
        trust: TlsTrust | None = None,
        proxies: ProxyRules | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._egress = egress
        self._trust = trust or system_trust()
        self._proxies = proxies
        self._delay_ms = delay_ms
        self._check = SettingsCheck(store)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._book = RobotsBook()

    async def look(self, order: PreviewPage) -> PagePreview:
        """What a visit would find. Raises BadInput naming the field, HostTaken where others are at the host."""
        order, fields = await to_thread.run_sync(partial(self._checked, order))
        host = authority_of(order.url)
        async with self._places:
            lease = await to_thread.run_sync(partial(self.lease, host))
            if lease is None:
                raise _busy(host, host_gate.ASK_AGAIN_MS)
            asked = lease.wait_ms <= LONGEST_WAIT_MS
            try:
                if not asked:
                    raise _busy(host, lease.wait_ms)
                return await self._looked(order, Turn(lease.wait_ms, lease.gap_ms), fields)
            finally:
                await to_thread.run_sync(partial(self.release, lease.lease_id, visited=asked))

    async def _looked(self, order: PreviewPage, turn: Turn, fields: PageFields | None) -> PagePreview:
        egress, trust, proxies, limits = Egress(self._egress), self._trust, self._proxies, PREVIEW_VISITS
        budget = GetLimits(limits.connect_ms, limits.first_byte_ms, limits.total_ms)
        robots = partial(fetch_robots, budget=budget, egress=egress, trust=trust, proxies=proxies)
        reading = PageReading(budget_s=READ_S) if fields is None else PageReading(budget_s=EXTRACT_S, here_bytes=0)
        try:
            async with GuardedClient(egress, trust=trust, proxies=proxies) as client:
                gate: Queue = _Gate(self)  # type: ignore[assignment] # a preview asks for nothing but hosts
                outside = Outside(client, self._book, robots, gate, WatchClock())
                return await preview(order, turn, outside, reading, reader=fields)
        finally:
            await reading.close()

    def _checked(self, order: PreviewPage) -> tuple[PreviewPage, PageFields | None]:
        try:
            url = frontier_url(order.url)
            authority_of(url)
        except (NotAWebUrlError, ValueError) as error:
            raise BadInput.at("url", str(error)) from None
        if problems := self._check.problems([("settings", order.settings)]):
            raise BadInput(problems)
        watched = order.settings.watched
        try:
            fields = self._check.fields(watched) if isinstance(watched, ByExtractor) else None
        except BadWatchSettings as error:  # removed this very moment
            raise BadInput.at(f"settings.{error.field}", error.reason) from None
        return order.model_copy(update={"url": url}), fields

    def lease(self, host: str) -> HostLease | None:
        """The host until the look is over, or None where somebody is there, or waits for it."""
        ident = new_id("l")
        holder = Holder(PREVIEW, ident, 1)
        with self._store.writing() as tx:
            row = hosts.to_change(tx, host)
            held = hosts.live_lease(tx, row)
            now = self._clock()
            ask = host_gate.Ask(holder, self._delay_ms, None, LEASE_MS)
            facts = replace(row.facts, lease=None if held is None else held.facts)
            verdict = host_gate.judge(facts, ask, now=now)
            if isinstance(verdict, Refusal):
                return None
            hosts.grant(tx, row, held, verdict, holder=holder, ident=ident, at=now)
        return HostLease(
            lease_id=ident, wait_ms=verdict.wait_ms, gap_ms=verdict.gap_ms, expires_in_ms=verdict.expires_in_ms
        )

    def release(self, lease_id: str, *, visited: bool) -> None:
        """The host counts as touched now, unless nothing was sent to it."""
        with self._store.writing() as tx:
            found = hosts.with_lease(tx, lease_id)
            if found is None or found[1].released_at is not None:
                return
            row, held = found
            how: LeaseEnd = "released" if visited else "unused"
            rests_until = row.facts.rests_until
            hosts.give_back(tx, row, held, how=how, at=self._clock(), touched=visited, rests_until=rests_until)


class _Gate:
    """Hosts that redirects lead to."""

    def __init__(self, service: PreviewService) -> None:
        self._service = service

    async def lease_host(self, host: str, token: str, *, delay_ms: int) -> HostLease | None:
        del token, delay_ms
        return await to_thread.run_sync(partial(self._service.lease, host))

    async def release_host(self, lease_id: str, *, visited: bool) -> None:
        await to_thread.run_sync(partial(self._service.release, lease_id, visited=visited))


def _busy(host: str, retry_after_ms: int) -> HostTaken:
    return HostTaken(
        f"{host} is visited by others or rests; ask again", code=HOST_LEASED, retry_after_ms=retry_after_ms, stop=False
    )
