"""The queue of watched pages: hosts that are ready, the first page of each, and the jobs in flight.

Every transaction that changes a host ends with `refresh`, which works out again from its pages, its rest and its job
when it is ready: no caller keeps that in mind. Rows are locked in one order, or left out where they are locked: pages,
jobs, the gate's hosts, the queue's hosts, due times, the pace, counts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Update, bindparam, case, delete, func, insert, select, update

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_watch import WatchPage
from ledger.store.models_watch_queue import WatchDue, WatchHost, WatchJob
from ledger.store.types import EPOCH

AT_ONCE = 500
NO_PAGE = 0
"""No page has this number."""


@dataclass(frozen=True)
class ReadyHost:
    """A host that may be claimed, its row locked."""

    id: int
    authority: str


@dataclass(frozen=True)
class FirstPage:
    """The page of a host that is due first."""

    host_id: int
    page_id: int
    due_at: datetime
    organization: str
    url: str
    settings: dict[str, Any] | None
    updated_at: datetime | None


@dataclass(frozen=True)
class JobRow:
    """A page in flight, and its host. `page_id` is NO_PAGE where its page was removed or changed meanwhile."""

    token: str
    host_id: int
    authority: str
    lane: int
    page_id: int
    organization: str
    worker: str
    due_at: datetime
    claimed_at: datetime
    usable_at: datetime
    lease_until: datetime
    gap_ms: int


@dataclass(frozen=True)
class Postponed:
    """A host that cannot be claimed now, and when to look at it again."""

    host_id: int
    ready_at: datetime
    ahead: bool


def host_ids(tx: Tx, authorities: Iterable[str], lane: int) -> dict[str, int]:
    """The hosts' numbers in that lane; those that were not known are made."""
    wanted = sorted(set(authorities))
    rows = [{"authority": one, "lane": lane, "rests_until": EPOCH, "ahead": False} for one in wanted]
    dialect.insert_new(tx, WatchHost, rows, ["authority", "lane"])
    found: dict[str, int] = {}
    for part in _parts(wanted):
        query = select(WatchHost.authority, WatchHost.id).where(WatchHost.authority.in_(part), WatchHost.lane == lane)
        found.update((key, value) for key, value in tx.execute(query))
    return found


def ready_hosts(tx: Tx, lane: int, limit: int, *, now: datetime) -> list[ReadyHost]:
    """Hosts that may be claimed, those that are ahead first, then those that have been ready for longest."""
    found: list[ReadyHost] = []
    for ahead in (True, False):
        query = (
            select(WatchHost.id, WatchHost.authority)
            .where(WatchHost.lane == lane, WatchHost.ahead == ahead, WatchHost.ready_at <= now)
            .order_by(WatchHost.ready_at)
            .limit(limit - len(found))
            .with_for_update(skip_locked=True, key_share=True)
        )
        if limit > len(found):
            found += [ReadyHost(ident, authority) for ident, authority in tx.execute(query)]
    return found


def next_ready_at(tx: Tx, lane: int) -> datetime | None:
    """When the next host is ready, if any is ever."""
    times = []
    for ahead in (True, False):
        query = select(WatchHost.ready_at).where(
            WatchHost.lane == lane, WatchHost.ahead == ahead, WatchHost.ready_at.is_not(None)
        )
        times.append(tx.scalar(query.order_by(WatchHost.ready_at).limit(1)))
    return min((at for at in times if at is not None), default=None)


def next_change_at(tx: Tx, lane: int) -> datetime | None:
    """When a claim may do anything: a host is ready then, or a job's time is over."""
    ends = select(WatchJob.lease_until).order_by(WatchJob.lease_until).limit(1)
    times = (next_ready_at(tx, lane), tx.scalar(ends))
    return min((at for at in times if at is not None), default=None)


def first_pages(tx: Tx, hosts: Collection[int]) -> dict[int, FirstPage]:
    """The page that is due first, by host. A host without one is left out."""
    first = (
        select(WatchDue.page_id)
        .where(WatchDue.host_id == WatchHost.id)
        .order_by(WatchDue.due_at)
        .limit(1)
        .correlate(WatchHost)
        .scalar_subquery()
    )
    chosen = [page for page in tx.scalars(select(first).select_from(WatchHost).where(WatchHost.id.in_(hosts))) if page]
    query = select(
        WatchDue.host_id,
        WatchDue.page_id,
        WatchDue.due_at,
        WatchPage.organization,
        WatchPage.url,
        WatchPage.settings,
        WatchPage.updated_at,
    ).join(WatchPage, WatchPage.id == WatchDue.page_id)
    return {row[0]: FirstPage(*row) for row in tx.execute(query.where(WatchDue.page_id.in_(chosen)))}


def begin_jobs(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Pages are in flight: their hosts leave the ready index. A second page of one host breaks the unique index."""
    if not rows:
        return
    tx.execute(insert(WatchJob), list(rows))
    hosts = [row["host_id"] for row in rows]
    tx.execute(update(WatchHost).where(WatchHost.id.in_(hosts)).values(ready_at=None, ahead=False))


def postpone(tx: Tx, rows: Sequence[Postponed]) -> None:
    """Look at these hosts again later."""
    if not rows:
        return
    statement = update(WatchHost).where(WatchHost.id == bindparam("host"))
    statement = statement.values(ready_at=bindparam("ready"), ahead=bindparam("first"))
    _each(tx, statement, [{"host": one.host_id, "ready": one.ready_at, "first": one.ahead} for one in rows])


def jobs(tx: Tx, tokens: Collection[str]) -> dict[str, JobRow]:
    """The jobs that these tokens claim, their rows locked."""
    query = _jobs().where(WatchJob.token.in_(tokens)).order_by(WatchJob.token).with_for_update(of=WatchJob)
    return {row.token: row for row in _rows(tx, query)}


def ended_jobs(tx: Tx, lane: int, limit: int, *, now: datetime) -> list[JobRow]:
    """Jobs whose time is over, their rows locked; those that somebody is reporting just now are left out."""
    query = _jobs().where(WatchJob.lease_until <= now, WatchHost.lane == lane).order_by(WatchJob.lease_until)
    return _rows(tx, query.limit(limit).with_for_update(of=WatchJob, skip_locked=True))


def job_lives(tx: Tx, token: str) -> bool:
    """Whether the job is still somebody's."""
    return tx.scalar(select(WatchJob.token).where(WatchJob.token == token)) is not None


def pages_in_flight(tx: Tx, pages: Collection[int]) -> set[int]:
    """Which of these pages are being visited."""
    return set(tx.scalars(select(WatchJob.page_id).where(WatchJob.page_id.in_(pages))))


def extend(tx: Tx, until: Mapping[str, datetime]) -> None:
    """Jobs last until then."""
    statement = update(WatchJob).where(WatchJob.token == bindparam("job")).values(lease_until=bindparam("ends"))
    _each(tx, statement, [{"job": token, "ends": ends} for token, ends in until.items()])


def end_jobs(tx: Tx, tokens: Collection[str]) -> None:
    """Pages are in flight no more. `refresh` follows."""
    tx.execute(delete(WatchJob).where(WatchJob.token.in_(tokens)))


def live(tx: Tx, tokens: Collection[str]) -> set[str]:
    """Which of these tokens claim a job now."""
    return set(tx.scalars(select(WatchJob.token).where(WatchJob.token.in_(tokens))))


def orphan(tx: Tx, page: int) -> bool:
    """What is in flight for the page is not about it any more: its host stays held until the visit is over."""
    statement = update(WatchJob).where(WatchJob.page_id == page).values(page_id=NO_PAGE)
    return bool(tx.execute(statement.returning(WatchJob.token)).first())


def join(tx: Tx, rows: Sequence[tuple[int, int, datetime]]) -> None:
    """Pages come into the queue: (page, host, due). `refresh` follows."""
    dialect.insert_new(
        tx, WatchDue, [{"page_id": page, "host_id": host, "due_at": due} for page, host, due in rows], ["page_id"]
    )


def leave(tx: Tx, pages: Collection[int]) -> None:
    """Pages go out of the queue. `refresh` follows."""
    tx.execute(delete(WatchDue).where(WatchDue.page_id.in_(pages)))


def due_to_change(tx: Tx, page: int) -> WatchDue | None:
    """The page's row in the queue, locked after its host's, as whoever changes both locks them."""
    host = tx.scalar(select(WatchDue.host_id).where(WatchDue.page_id == page))
    if host is None:
        return None
    lock_hosts(tx, [host])
    return dues(tx, [page]).get(page)


def dues(tx: Tx, pages: Collection[int]) -> dict[int, WatchDue]:
    """The queue's rows of these pages, locked."""
    query = select(WatchDue).where(WatchDue.page_id.in_(pages)).order_by(WatchDue.page_id).with_for_update()
    return {row.page_id: row for row in tx.scalars(query.execution_options(populate_existing=True))}


def set_dues(tx: Tx, rows: Sequence[tuple[int, datetime, int]]) -> None:
    """Pages are due then: (page, due, lost). `refresh` follows."""
    if not rows:
        return
    statement = update(WatchDue).where(WatchDue.page_id == bindparam("page"))
    statement = statement.values(due_at=bindparam("due"), lost=bindparam("times"))
    _each(tx, statement, [{"page": page, "due": due, "times": lost} for page, due, lost in rows])


def first_due_at(tx: Tx, host_id: int) -> datetime | None:
    """When the first page of the host is due."""
    return tx.scalar(select(func.min(WatchDue.due_at)).where(WatchDue.host_id == host_id))


def rest(tx: Tx, until: Mapping[int, datetime]) -> None:
    """Hosts rest until then; a rest is never made shorter. `refresh` follows."""
    if not until:
        return
    statement = update(WatchHost).where(WatchHost.id == bindparam("host"), WatchHost.rests_until < bindparam("ends"))
    statement = statement.values(rests_until=bindparam("ends"))
    _each(tx, statement, [{"host": host, "ends": ends} for host, ends in sorted(until.items())])


def go_ahead(tx: Tx, host_id: int) -> None:
    """The host is among those that are claimed first. `refresh` follows."""
    tx.execute(update(WatchHost).where(WatchHost.id == host_id).values(ahead=True))


def refresh(tx: Tx, hosts: Iterable[int]) -> None:
    """Work out when these hosts are ready: never while a page is in flight, else when the first one is due and their
    rest is over."""
    wanted = sorted(set(hosts))
    earliest = (
        select(func.min(WatchDue.due_at)).where(WatchDue.host_id == WatchHost.id).correlate(WatchHost).scalar_subquery()
    )
    flying = select(WatchJob.token).where(WatchJob.host_id == WatchHost.id).correlate(WatchHost).exists()
    ready = case(
        (flying, None),
        (WatchHost.first_due_at > WatchHost.rests_until, WatchHost.first_due_at),
        (WatchHost.first_due_at.is_(None), None),
        else_=WatchHost.rests_until,
    )
    for part in _parts(wanted):
        those = WatchHost.id.in_(part)
        silent = {"synchronize_session": False}
        tx.execute(update(WatchHost).where(those).values(first_due_at=earliest).execution_options(**silent))
        tx.execute(update(WatchHost).where(those).values(ready_at=ready).execution_options(**silent))


def lock_hosts(tx: Tx, hosts: Iterable[int]) -> None:
    """Lock the rows of these hosts, in one order: whoever changes several does this first."""
    wanted = sorted(set(hosts))
    for part in _parts(wanted):
        query = select(WatchHost.id).where(WatchHost.id.in_(part)).order_by(WatchHost.id)
        tx.execute(query.with_for_update(key_share=True))


def _each(tx: Tx, statement: Update, rows: Sequence[dict[str, Any]]) -> None:
    """One statement for each of the rows, as the driver sends them best: no objects are kept in step with it."""
    tx.flush()
    if rows:
        tx.connection().execute(statement, rows)


def _jobs() -> Any:
    return select(
        WatchJob.token,
        WatchJob.host_id,
        WatchHost.authority,
        WatchHost.lane,
        WatchJob.page_id,
        WatchJob.organization,
        WatchJob.worker,
        WatchJob.due_at,
        WatchJob.claimed_at,
        WatchJob.usable_at,
        WatchJob.lease_until,
        WatchJob.gap_ms,
    ).join(WatchHost, WatchHost.id == WatchJob.host_id)


def _rows(tx: Tx, query: Any) -> list[JobRow]:
    return [JobRow(*row) for row in tx.execute(query)]


def _parts(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
