"""Rows of hosts and of their leases, as the host gate changes them.

Asked before and after every visit, so few statements, written once, and no objects that a session keeps track of:
with those a call took twice as long.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, Table, bindparam, delete, func, insert, select, update

from ledger.rules.host_gate import Ended, Grant, Holder, HostFacts, Lease, LeaseEnd, Waiter
from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models import Host
from ledger.store.models_gate import HostLease

_host, _lease = Host.__table__, HostLease.__table__
assert isinstance(_host, Table)
assert isinstance(_lease, Table)

_HOST_COLUMNS = (
    _host.c.authority,
    _host.c.last_touched_at,
    _host.c.crawl_delay_ms,
    _host.c.crawl_delay_heard_at,
    _host.c.rests_until,
    _host.c.lease_id,
    _host.c.waiting,
)
_LEASE_COLUMNS = (
    _lease.c.id,
    _lease.c.host,
    _lease.c.holder_kind,
    _lease.c.holder_key,
    _lease.c.holder_attempt,
    _lease.c.granted_at,
    _lease.c.wait_ms,
    _lease.c.expires_at,
    _lease.c.released_at,
)

_HOST_TO_CHANGE = select(*_HOST_COLUMNS).where(_host.c.authority == bindparam("authority")).with_for_update()
_LEASE_BY_ID = select(*_LEASE_COLUMNS).where(_lease.c.id == bindparam("lease_id"))
_LEASE_AND_HOST = (
    select(*_LEASE_COLUMNS, *_HOST_COLUMNS)
    .join_from(_lease, _host, _host.c.authority == _lease.c.host)
    .where(_lease.c.id == bindparam("lease_id"))
    .with_for_update(of=_host)
)
_LEASES_OF = (
    select(*_LEASE_COLUMNS)
    .where(
        _lease.c.holder_kind == bindparam("kind"), _lease.c.holder_key == bindparam("key"), _lease.c.ended_at.is_(None)
    )
    .order_by(_lease.c.host)
)
_THIS_HOST = update(_host).where(_host.c.authority == bindparam("this_host"))
_GRANT = _THIS_HOST.values(
    {column: bindparam(column.name) for column in _HOST_COLUMNS if column is not _host.c.authority}
)
_WAIT_IN_LINE = _THIS_HOST.values(waiting=bindparam("waiting"))
_GIVE_BACK = _THIS_HOST.values(
    last_touched_at=bindparam("last_touched_at"), rests_until=bindparam("rests_until"), lease_id=bindparam("lease_id")
)
_NEW_LEASE = insert(_lease)
_THIS_LEASE = update(_lease).where(_lease.c.id == bindparam("this_lease"))
_EXTEND = _THIS_LEASE.values(expires_at=bindparam("expires_at"))
_END = _THIS_LEASE.values(ending=bindparam("ending"), ended_at=bindparam("ended_at"))
_RELEASE = _THIS_LEASE.values(released_at=func.coalesce(_lease.c.released_at, bindparam("released_at")))


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease, live or not."""

    id: str
    host: str
    facts: Lease
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class LockedHost:
    """A host whose row is locked until the transaction ends. `facts` lack its lease, which `lease_id` names."""

    authority: str
    facts: HostFacts
    lease_id: str | None


def to_change(tx: Tx, authority: str) -> LockedHost:
    """The host, its row locked until the transaction ends; made where it was not known."""
    row = tx.execute(_HOST_TO_CHANGE, {"authority": authority}).one_or_none()
    if row is None:
        dialect.insert_new(tx, Host, [{"authority": authority}], ["authority"])
        row = tx.execute(_HOST_TO_CHANGE, {"authority": authority}).one()
    return _locked_host(row)


def know(tx: Tx, authorities: Iterable[str]) -> None:
    """See to it that each of these hosts has a row."""
    dialect.insert_new(tx, Host, [{"authority": one} for one in sorted(set(authorities))], ["authority"])


def lease_holder(tx: Tx, lease_id: str) -> Holder | None:
    """Whose lease it is or was, which never changes. Nothing is locked."""
    row = tx.execute(_LEASE_BY_ID, {"lease_id": lease_id}).one_or_none()
    return None if row is None else _held_lease(row).facts.holder


def with_lease(tx: Tx, lease_id: str) -> tuple[LockedHost, HeldLease] | None:
    """A lease, live or not, with its host, whose row is locked until the transaction ends.

    The lease itself is not locked, so what others may change of it, its end and its release, may be a moment old.
    """
    row = tx.execute(_LEASE_AND_HOST, {"lease_id": lease_id}).one_or_none()
    return None if row is None else (_locked_host(row), _held_lease(row))


def live_lease(tx: Tx, host: LockedHost) -> HeldLease | None:
    """The lease of the host as it is now. Asked after the lock was had: whoever had it before may have changed it."""
    if host.lease_id is None:
        return None
    return _held_lease(tx.execute(_LEASE_BY_ID, {"lease_id": host.lease_id}).one())


def leases_of(tx: Tx, holder_kind: str, holder_key: str) -> Sequence[HeldLease]:
    """What leases some work has now, in the order of their hosts."""
    return [_held_lease(row) for row in tx.execute(_LEASES_OF, {"kind": holder_kind, "key": holder_key})]


def forget_leases(tx: Tx, kind: str, key_begins: str) -> None:
    """Remove what is over of the leases whose holder's key begins so. When their hosts were last visited stays."""
    whose = (HostLease.holder_kind == kind, HostLease.holder_key.startswith(key_begins, autoescape=True))
    tx.execute(delete(HostLease).where(*whose, HostLease.ended_at.is_not(None)))


def forget_ended(tx: Tx, kind: str, *, before: datetime, limit: int) -> int:
    """Remove some of the leases of this kind that ended before then; returns how many went."""
    query = select(HostLease.id).where(HostLease.ended_at < before, HostLease.holder_kind == kind).limit(limit)
    idents = list(tx.scalars(query.order_by(HostLease.ended_at)))
    if idents:
        tx.execute(delete(HostLease).where(HostLease.id.in_(idents)))
    return len(idents)


def grant(
    tx: Tx, host: LockedHost, held: HeldLease | None, given: Grant, *, holder: Holder, ident: str, at: datetime
) -> None:
    """The host has a new lease; the one before, if there was one, ended as the grant says."""
    if held is not None and given.ended is not None:
        _end(tx, held, given.ended)
    row = {
        "id": ident,
        "host": host.authority,
        "holder_kind": holder.kind,
        "holder_key": holder.key,
        "holder_attempt": holder.attempt,
        "granted_at": at,
        "wait_ms": given.wait_ms,
        "gap_ms": given.gap_ms,
        "expires_at": at + timedelta(milliseconds=given.expires_in_ms),
    }
    tx.execute(_NEW_LEASE, row)
    after = given.facts
    tx.execute(
        _GRANT,
        {
            "this_host": host.authority,
            "last_touched_at": after.touched_at,
            "crawl_delay_ms": after.crawl_delay_ms,
            "crawl_delay_heard_at": after.crawl_delay_heard_at,
            "rests_until": after.rests_until,
            "lease_id": ident,
            "waiting": _waiting_rows(after.waiting),
        },
    )


def wait_in_line(tx: Tx, host: LockedHost, waiting: Sequence[Waiter]) -> None:
    """Who waits for the host, in the order of their turns."""
    tx.execute(_WAIT_IN_LINE, {"this_host": host.authority, "waiting": _waiting_rows(waiting)})


def extend(tx: Tx, held: HeldLease, *, until: datetime) -> None:
    """The lease lasts until then."""
    tx.execute(_EXTEND, {"this_lease": held.id, "expires_at": until})


def give_back(
    tx: Tx,
    host: LockedHost,
    held: HeldLease,
    *,
    how: LeaseEnd,
    at: datetime,
    touched: bool,
    rests_until: datetime | None = None,
) -> bool:
    """The holder is done, or its work is over. False where the lease had ended before.

    `touched`: somebody was at the host until now, and it rests until `rests_until`.
    """
    live = host.lease_id == held.id
    if live or touched:
        facts = host.facts
        touched_at = facts.touched_at
        if touched:
            touched_at = at if touched_at is None else max(at, touched_at)
        tx.execute(
            _GIVE_BACK,
            {
                "this_host": host.authority,
                "last_touched_at": touched_at,
                "rests_until": rests_until if touched else facts.rests_until,
                "lease_id": None if live else host.lease_id,
            },
        )
    if how in ("released", "unused"):
        tx.execute(_RELEASE, {"this_lease": held.id, "released_at": at})
    if live:
        _end(tx, held, Ended(how, at))
    return live


def _end(tx: Tx, held: HeldLease, ended: Ended) -> None:
    tx.execute(_END, {"this_lease": held.id, "ending": ended.how, "ended_at": ended.at})


def _locked_host(row: Row[*tuple[Any, ...]]) -> LockedHost:
    facts = HostFacts(
        touched_at=row.last_touched_at,
        crawl_delay_ms=row.crawl_delay_ms,
        crawl_delay_heard_at=row.crawl_delay_heard_at,
        rests_until=row.rests_until,
        waiting=tuple(_waiter(one) for one in row.waiting or ()),
    )
    return LockedHost(row.authority, facts, row.lease_id)


def _held_lease(row: Row[*tuple[Any, ...]]) -> HeldLease:
    holder = Holder(row.holder_kind, row.holder_key, row.holder_attempt)
    return HeldLease(row.id, row.host, Lease(holder, row.granted_at, row.wait_ms, row.expires_at), row.released_at)


def _waiter(row: dict[str, Any]) -> Waiter:
    since, asked_at = (datetime.fromisoformat(row[name]) for name in ("since", "askedAt"))
    return Waiter(row["kind"], row["key"], since, asked_at)


def _waiting_rows(waiting: Sequence[Waiter]) -> list[dict[str, Any]] | None:
    return [_waiter_row(one) for one in waiting] or None


def _waiter_row(one: Waiter) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "key": one.key,
        "since": one.since.isoformat(),
        "askedAt": one.asked_at.isoformat(),
    }
