"""Visits as evidence: read host by host, in the order in which they were made, by crawls and by watchers."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import func, select

from ledger.rules.watch_pages import page_id
from ledger.store.database import Tx
from ledger.store.models import Crawl, Page, Visit
from ledger.store.models_gate import HostLease
from ledger.store.models_watch import WatchPage, WatchRequest

ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class VisitRow:
    """A visit, its page and its lease. `left_at` is the later of the lease's end and its release.

    `run_id` is the flow run's or the watcher's: whose clock `submitted_at` and `finished_at` are by.
    """

    work: Literal["crawl", "watch"]
    id: int
    crawl_id: str
    page_id: str
    organization: str
    url: str
    attempt: int
    number: int
    run_id: str
    task_id: str | None
    submitted_at: datetime
    finished_at: datetime
    received_at: datetime
    outcome: str
    promised_gap_ms: int | None
    waited_ms: int | None
    leased_at: datetime | None
    left_at: datetime | None

    @property
    def place(self) -> tuple[datetime, datetime, int]:
        """Leases of a host follow each other, so their order is the order of the visits under them."""
        return self.leased_at or self.submitted_at, self.submitted_at, self.id


def visited_hosts(
    tx: Tx, *, crawl_id: str | None, organizations: Sequence[str] | None, after: str, limit: int
) -> Sequence[str]:
    """The next hosts by name that have visits: of that crawl, of these organisations' work, or at all."""
    query = select(Visit.host).where(Visit.host > after).distinct().order_by(Visit.host).limit(limit)
    if crawl_id is not None:
        query = query.join(Page, Page.id == Visit.page_id).where(Page.crawl_id == crawl_id)
        return tx.scalars(query).all()
    watched = select(WatchRequest.host).where(WatchRequest.host > after).distinct().order_by(WatchRequest.host)
    if organizations is not None:
        query = query.join(Page, Page.id == Visit.page_id).join(Crawl, Crawl.id == Page.crawl_id)
        query = query.where(Crawl.organization.in_(organizations))
        watched = watched.where(WatchRequest.organization.in_(organizations))
    return sorted({*tx.scalars(query), *tx.scalars(watched.limit(limit))})[:limit]


def visits_of_host(tx: Tx, host: str, *, since: datetime | None, until: datetime | None) -> Iterator[VisitRow]:
    """The host's visits by anyone that the ledger heard of in that time, a few at a time in memory, in their order."""
    crawls = _of_crawls(tx, host, since, until)
    return heapq.merge(crawls, _of_watchers(tx, host, since, until), key=lambda row: row.place)


def _of_crawls(tx: Tx, host: str, since: datetime | None, until: datetime | None) -> Iterator[VisitRow]:
    query = (
        select(
            Visit,
            Page.crawl_id,
            Crawl.organization,
            Page.url,
            HostLease.granted_at,
            HostLease.ended_at,
            HostLease.released_at,
        )
        .join(Page, Page.id == Visit.page_id)
        .join(Crawl, Crawl.id == Page.crawl_id)
        .outerjoin(HostLease, HostLease.id == Visit.lease_id)
        .where(Visit.host == host)
        .order_by(func.coalesce(HostLease.granted_at, Visit.submitted_at), Visit.submitted_at, Visit.id)
    )
    if since is not None:
        query = query.where(Visit.received_at >= since)
    if until is not None:
        query = query.where(Visit.received_at <= until)
    for visit, crawl_id, organization, url, granted_at, ended_at, released_at in tx.execute(
        query.execution_options(yield_per=ROWS_AT_ONCE)
    ):
        yield VisitRow(
            work="crawl",
            id=visit.id,
            crawl_id=crawl_id,
            page_id=visit.page_id,
            organization=organization,
            url=url,
            attempt=visit.attempt,
            number=visit.try_number,
            run_id=visit.run_id,
            task_id=visit.task_id,
            submitted_at=visit.submitted_at,
            finished_at=visit.finished_at,
            received_at=visit.received_at,
            outcome=visit.outcome,
            promised_gap_ms=visit.promised_gap_ms,
            waited_ms=visit.waited_ms,
            leased_at=granted_at,
            left_at=_left_at(ended_at, released_at),
        )
        tx.expunge(visit)  # else every visit of the host stays in memory until the end


def _of_watchers(tx: Tx, host: str, since: datetime | None, until: datetime | None) -> Iterator[VisitRow]:
    """Those under a lease in its order, and the few whose lease is not known in their own."""
    query = (
        select(WatchRequest, WatchPage.url, HostLease.granted_at, HostLease.ended_at, HostLease.released_at)
        .outerjoin(WatchPage, WatchPage.id == WatchRequest.page_id)
        .outerjoin(HostLease, HostLease.id == WatchRequest.lease_id)
        .where(WatchRequest.host == host)
    )
    if since is not None:
        query = query.where(WatchRequest.received_at >= since)
    if until is not None:
        query = query.where(WatchRequest.received_at <= until)
    under, alone = HostLease.granted_at.is_not(None), HostLease.granted_at.is_(None)
    leased = query.where(under).order_by(HostLease.granted_at, WatchRequest.submitted_at, WatchRequest.id)
    others = query.where(alone).order_by(WatchRequest.submitted_at, WatchRequest.id)
    return heapq.merge(_read(tx, leased), _read(tx, others), key=lambda row: row.place)


def _read(tx: Tx, query: Any) -> Iterator[VisitRow]:
    for row in tx.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        yield _watched(*row)
        tx.expunge(row[0])


def _watched(
    request: WatchRequest,
    url: str | None,
    granted_at: datetime | None,
    ended_at: datetime | None,
    released_at: datetime | None,
) -> VisitRow:
    return VisitRow(
        work="watch",
        id=request.id,
        crawl_id="",
        page_id="" if request.page_id is None else page_id(request.page_id),
        organization=request.organization,
        url=request.url or url or "",
        attempt=1,
        number=1,
        run_id=request.worker,
        task_id=None,
        submitted_at=request.submitted_at,
        finished_at=request.finished_at,
        received_at=request.received_at,
        outcome=request.outcome,
        promised_gap_ms=request.promised_gap_ms,
        waited_ms=request.waited_ms,
        leased_at=granted_at,
        left_at=_left_at(ended_at, released_at),
    )


def _left_at(ended_at: datetime | None, released_at: datetime | None) -> datetime | None:
    return max((at for at in (ended_at, released_at) if at is not None), default=None)
