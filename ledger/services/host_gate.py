"""`POST /api/hosts/lease|renew|release`: one visit to a host at a time, by anyone, and never too soon."""

from dataclasses import replace
from datetime import datetime
from typing import Literal

from comity.contract.hosts import (
    HOST_LEASED,
    LEASE_LOST,
    CrawlHolder,
    HostHolder,
    HostLease,
    LeaseHost,
    LeaseReleased,
    LeaseRenewed,
    ReleaseLease,
    RenewLease,
    WatchHolder,
)
from comity.contract.ledger import STALE_RUN
from ledger.clock import Clock
from ledger.errors import BadInput, HostTaken, Unknown
from ledger.ids import new_id
from ledger.rules import fence, host_gate
from ledger.rules.fence import Claim
from ledger.rules.host_gate import Holder, LeaseEnd, Refusal
from ledger.rules.scope import authority, frontier_url
from ledger.store import crawls, hosts, watch_queue
from ledger.store.database import Store, Tx
from ledger.store.hosts import HeldLease, LockedHost
from ledger.store.models import Crawl

CRAWL: Literal["crawl"] = "crawl"
WATCH: Literal["watch"] = "watch"
PREVIEW = "preview"
"""Who looks at a page before it is watched."""
QUEUE_KEY = "queue"
"""Holder of the hosts whose pages are claimed: their leases end with their jobs, by the queue's own calls."""


class HostGateService:
    """Gives hosts to those who want to visit them, one after the other."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def lease(self, order: LeaseHost) -> HostLease:
        """The host, with the wait that must come before the visit.

        Raises HostTaken: where others have it, or their turn is next; with `stop` where the holder's work is over.
        Raises BadInput for a host that is none, Unknown for a holder that is none.
        """
        _check_host(order.host)
        holder = _holder(order.holder)
        ident = new_id("l")
        with self._store.writing() as tx:
            over = _why_over(tx, order.holder)
            if over is not None:
                raise HostTaken(over, code=STALE_RUN, retry_after_ms=0, stop=True)
            host = hosts.to_change(tx, order.host)
            held = hosts.live_lease(tx, host)
            now = self._clock()  # after the locks: who waited for one must not be told of an older moment
            ask = host_gate.Ask(holder, order.delay_ms, order.crawl_delay_ms)
            facts = replace(host.facts, lease=None if held is None else held.facts)
            verdict = host_gate.judge(facts, ask, now=now)
            if isinstance(verdict, Refusal):
                hosts.wait_in_line(tx, host, verdict.waiting)
            else:
                hosts.grant(tx, host, held, verdict, holder=holder, ident=ident, at=now)
        if isinstance(verdict, Refusal):
            raise HostTaken(
                f"{order.host}: {verdict.reason}",
                code=HOST_LEASED,
                retry_after_ms=verdict.retry_after_ms,
                stop=verdict.stop,
            )
        return HostLease(
            lease_id=ident, wait_ms=verdict.wait_ms, gap_ms=verdict.gap_ms, expires_in_ms=verdict.expires_in_ms
        )

    def renew(self, order: RenewLease) -> LeaseRenewed:
        """The lease lasts for 300 s from when it may be used. One that ran out is renewed too, where nobody took it.

        Raises HostTaken where the host is no longer the holder's, with `stop` where its work is over; Unknown.
        """
        with self._store.writing() as tx:
            # The crawl's row before the host's, as everywhere: locked in turns, two calls would wait for each other.
            over = _holder_over(tx, _lease_holder(tx, order.lease_id))
            host, held = _lease_to_change(tx, order.lease_id)
            now = self._clock()
            if over is None and host.lease_id == held.id:
                until = host_gate.renewed_until(held.facts, now=now)
                hosts.extend(tx, held, until=until)
                return LeaseRenewed(expires_in_ms=int((until - now).total_seconds() * 1000))
        if over is not None:
            raise HostTaken(over, code=STALE_RUN, retry_after_ms=0, stop=True)
        raise HostTaken(f"the lease of {held.host} has ended", code=LEASE_LOST, retry_after_ms=0, stop=False)

    def release(self, order: ReleaseLease) -> LeaseReleased:
        """The visit is over: the host counts as touched now, and rests as long as it asked. A repeat changes nothing.

        A release that comes after the lease's end is true all the same: the visit took until now. Raises Unknown.
        """
        with self._store.writing() as tx:
            host, held = _lease_to_change(tx, order.lease_id)
            now = self._clock()
            if held.released_at is not None:
                return LeaseReleased(released=False)
            how: LeaseEnd = "released" if order.visited else "unused"
            rests_until = host_gate.rest_until(host.facts, order.retry_after_ms, now=now)
            live = hosts.give_back(tx, host, held, how=how, at=now, touched=order.visited, rests_until=rests_until)
            return LeaseReleased(released=live)


def end_level_leases(tx: Tx, crawl: Crawl, *, at: datetime, in_flight: bool) -> None:
    """The crawl's current level is over: its leases end, as touches.

    `in_flight`: its run may still be at work. Then they are left to it for a moment, so that nobody visits a host
    beside a capture that has not ended yet; a renewal is refused.
    """
    for held in hosts.leases_of(tx, CRAWL, _key(crawl.id, crawl.depth)):
        host = hosts.to_change(tx, held.host)
        if in_flight:
            hosts.extend(tx, held, until=min(held.facts.expires_at, at + host_gate.WIND_DOWN))
        else:
            rests_until = host.facts.rests_until
            hosts.give_back(tx, host, held, how="work-ended", at=at, touched=True, rests_until=rests_until)


def _lease_holder(tx: Tx, lease_id: str) -> Holder:
    """Whose it is, where it is one of this call's. A job's own ends with `POST /api/watch/queue/…`. Raises Unknown."""
    holder = hosts.lease_holder(tx, lease_id)
    if holder is None or _is_of_the_queue(holder):
        raise Unknown("lease", lease_id)
    return holder


def _lease_to_change(tx: Tx, lease_id: str) -> tuple[LockedHost, HeldLease]:
    """As `_lease_holder`, with its host locked."""
    found = hosts.with_lease(tx, lease_id)
    if found is None or _is_of_the_queue(found[1].facts.holder):
        raise Unknown("lease", lease_id)
    return found


def _is_of_the_queue(holder: Holder) -> bool:
    return (holder.kind, holder.key) == (WATCH, QUEUE_KEY)


def _check_host(host: str) -> None:
    """A host has one name: two spellings would be two hosts, visited at once."""
    for scheme in ("http", "https"):
        try:
            if authority(frontier_url(f"{scheme}://{host}/")) == host:
                return
        except ValueError:
            continue
    raise BadInput.at("host", "is not a host as work orders name it: lower case, its port only where it needs one")


def _holder(holder: HostHolder) -> Holder:
    if isinstance(holder, WatchHolder):
        return Holder(holder.kind, holder.token, 1)
    return Holder(holder.kind, _key(holder.crawl_id, holder.depth), holder.attempt)


def _key(crawl_id: str, depth: int) -> str:
    return f"{crawl_id}:{depth}"


def _why_over(tx: Tx, holder: HostHolder) -> str | None:
    """Why the holder needs no more hosts, or None while its work goes on. Raises Unknown."""
    if isinstance(holder, WatchHolder):
        return None if watch_queue.job_lives(tx, holder.token) else "the job is over"
    held = crawls.holder_to_rely_on(tx, holder.crawl_id)
    if held is None:
        raise Unknown("crawl", holder.crawl_id)
    claim = Claim(holder.depth, holder.attempt, holder.run_id or held.run_id or "")
    return fence.over(held) or fence.stale(held, claim)


def _holder_over(tx: Tx, holder: Holder) -> str | None:
    if holder.kind == WATCH and holder.key != QUEUE_KEY:
        return _why_over(tx, WatchHolder(kind=WATCH, token=holder.key))
    if holder.kind != CRAWL:
        raise ValueError(f"a lease of the unknown kind {holder.kind}")
    crawl_id, _, depth = holder.key.rpartition(":")
    return _why_over(tx, CrawlHolder(crawl_id=crawl_id, depth=int(depth), attempt=holder.attempt))
