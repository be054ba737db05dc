"""Rows of many hosts and of their leases, as a batch of watched pages changes them.

Here the session keeps the rows and writes what changed with one statement for all of them; `ledger.store.hosts`, which
a capture waits for, changes one host and writes each statement itself.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from ledger.rules.host_gate import Ended, Grant, Holder, HostFacts, Lease, LeaseEnd, Waiter
from ledger.store.database import Tx
from ledger.store.models import Host
from ledger.store.models_gate import HostLease


def several_to_change(tx: Tx, authorities: Iterable[str], *, wait: bool) -> dict[str, Host]:
    """These hosts by name, their rows locked in one order. Without `wait` those that others lock are left out."""
    query = select(Host).where(Host.authority.in_(sorted(set(authorities)))).order_by(Host.authority)
    found = tx.scalars(query.with_for_update(skip_locked=not wait).execution_options(populate_existing=True))
    return {host.authority: host for host in found}


def live_leases(tx: Tx, found: Iterable[Host]) -> dict[str, HostLease]:
    """The leases of hosts whose rows are locked, by host."""
    idents = [host.lease_id for host in found if host.lease_id is not None]
    query = select(HostLease).where(HostLease.id.in_(idents)).execution_options(populate_existing=True)
    return {held.host: held for held in tx.scalars(query)}


def leases(tx: Tx, idents: Sequence[str]) -> dict[str, HostLease]:
    """These leases by id, live or not."""
    query = select(HostLease).where(HostLease.id.in_(idents)).execution_options(populate_existing=True)
    return {held.id: held for held in tx.scalars(query)}


def facts(host: Host, held: HostLease | None) -> HostFacts:
    """What the gate's rules judge by."""
    return HostFacts(
        touched_at=host.last_touched_at,
        crawl_delay_ms=host.crawl_delay_ms,
        crawl_delay_heard_at=host.crawl_delay_heard_at,
        rests_until=host.rests_until,
        lease=None if held is None else lease_facts(held),
        waiting=tuple(_waiter(one) for one in host.waiting or ()),
    )


def lease_facts(held: HostLease) -> Lease:
    """A lease as the rules see it."""
    holder = Holder(held.holder_kind, held.holder_key, held.holder_attempt)
    return Lease(holder, held.granted_at, held.wait_ms, held.expires_at)


def grant(
    tx: Tx, host: Host, held: HostLease | None, given: Grant, *, holder: Holder, ident: str, at: datetime
) -> None:
    """The host has a new lease; the one before, if there was one, ended as the grant says."""
    if held is not None and given.ended is not None:
        _end(held, given.ended)
    tx.add(
        HostLease(
            id=ident,
            host=host.authority,
            holder_kind=holder.kind,
            holder_key=holder.key,
            holder_attempt=holder.attempt,
            granted_at=at,
            wait_ms=given.wait_ms,
            gap_ms=given.gap_ms,
            expires_at=at + timedelta(milliseconds=given.expires_in_ms),
        )
    )
    after = given.facts
    host.last_touched_at, host.rests_until = after.touched_at, after.rests_until
    host.crawl_delay_ms, host.crawl_delay_heard_at = after.crawl_delay_ms, after.crawl_delay_heard_at
    host.lease_id = ident
    wait_in_line(host, after.waiting)


def wait_in_line(host: Host, waiting: Sequence[Waiter]) -> None:
    """Who waits for the host, in the order of their turns."""
    host.waiting = [_waiter_row(one) for one in waiting] or None


def touch(host: Host, *, at: datetime, rests_until: datetime | None) -> None:
    """Somebody was at the host."""
    host.last_touched_at = at if host.last_touched_at is None else max(at, host.last_touched_at)
    host.rests_until = rests_until


def hear(host: Host, crawl_delay_ms: int, *, at: datetime) -> None:
    """What the host's robots.txt asks for, 0 for nothing."""
    host.crawl_delay_ms, host.crawl_delay_heard_at = crawl_delay_ms, at


def give_back(host: Host, held: HostLease, *, how: LeaseEnd, at: datetime) -> bool:
    """The holder is done, or its work is over. False where the lease had ended before."""
    if how in ("released", "unused") and held.released_at is None:
        held.released_at = at
    live = host.lease_id == held.id
    if live:
        _end(held, Ended(how, at))
        host.lease_id = None
    return live


def _end(held: HostLease, ended: Ended) -> None:
    held.ending, held.ended_at = ended.how, ended.at


def _waiter(row: dict[str, Any]) -> Waiter:
    since, asked_at = (datetime.fromisoformat(row[name]) for name in ("since", "askedAt"))
    return Waiter(row["kind"], row["key"], since, asked_at)


def _waiter_row(one: Waiter) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "key": one.key,
        "since": one.since.isoformat(),
        "askedAt": one.asked_at.isoformat(),
    }
