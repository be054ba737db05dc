"""Rows of lists of watched pages: an antenna shows its pages by the time of their last update."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_watch import WatchList, WatchMember, WatchPage, WatchState
from ledger.store.models_watch_queue import WatchDue
from ledger.store.types import EPOCH

AT_ONCE = 500


def add(tx: Tx, row: WatchList) -> None:
    """A list without pages."""
    tx.add(row)
    tx.flush()


def get(tx: Tx, ident: str, organizations: Sequence[str] | None, *, lock: bool = False) -> WatchList | None:
    """The list, or None where these organisations have none by that id."""
    query = select(WatchList).where(WatchList.id == ident)
    row = tx.scalars(query.with_for_update() if lock else query).one_or_none()
    return None if row is None or _foreign(row.organization, organizations) else row


def every(tx: Tx, organizations: Sequence[str] | None) -> Sequence[WatchList]:
    """The lists of these organisations, oldest first."""
    query = select(WatchList).order_by(WatchList.created_at, WatchList.id)
    if organizations is not None:
        query = query.where(WatchList.organization.in_(organizations))
    return tx.scalars(query).all()


def known(tx: Tx, idents: Collection[str], organization: str) -> set[str]:
    """Which of these lists the organisation has."""
    query = select(WatchList.id).where(WatchList.id.in_(idents), WatchList.organization == organization)
    return set(tx.scalars(query))


def remove(tx: Tx, row: WatchList) -> None:
    """The list goes, its pages stay."""
    tx.delete(row)
    tx.flush()


def enter(tx: Tx, members: Iterable[tuple[str, int]]) -> None:
    """Pages join lists: (list, page). One that is there already stays."""
    wanted = list(dict.fromkeys(members))
    times: dict[int, datetime | None] = {}
    for part in _parts(sorted({page for _, page in wanted})):
        query = select(WatchPage.id, WatchPage.updated_at).where(WatchPage.id.in_(part))
        times.update((page, at) for page, at in tx.execute(query))
    rows = [{"list_id": one, "page_id": page, "updated_at": times[page] or EPOCH} for one, page in wanted]
    dialect.insert_new(tx, WatchMember, rows, ["list_id", "page_id"])
    count(tx, {one for one, _ in wanted})


def drop(tx: Tx, list_id: str, pages: Collection[int]) -> None:
    """Pages leave a list."""
    for part in _parts(sorted(pages)):
        tx.execute(delete(WatchMember).where(WatchMember.list_id == list_id, WatchMember.page_id.in_(part)))
    count(tx, {list_id})


def leave_all(tx: Tx, page: int) -> None:
    """The page is in no list."""
    lists = list(tx.scalars(select(WatchMember.list_id).where(WatchMember.page_id == page)))
    tx.execute(delete(WatchMember).where(WatchMember.page_id == page))
    count(tx, lists)


def count(tx: Tx, lists: Iterable[str]) -> None:
    """Keep the lists' counts right."""
    for ident in sorted(set(lists)):
        members = select(func.count()).where(WatchMember.list_id == ident).scalar_subquery()
        tx.execute(
            update(WatchList)
            .where(WatchList.id == ident)
            .values(pages=members)
            .execution_options(synchronize_session=False)
        )


def of_pages(tx: Tx, pages: Collection[int]) -> dict[int, list[str]]:
    """Lists by page."""
    found: dict[int, list[str]] = defaultdict(list)
    query = select(WatchMember.page_id, WatchMember.list_id).where(WatchMember.page_id.in_(pages))
    for page, one in tx.execute(query.order_by(WatchMember.page_id, WatchMember.list_id)):
        found[page].append(one)
    return found


def counts(tx: Tx, pages: Collection[int]) -> dict[int, int]:
    """How many lists hold each page; pages in none are left out."""
    query = select(WatchMember.page_id, func.count()).where(WatchMember.page_id.in_(pages))
    found: dict[int, int] = {}
    found.update((page, lists) for page, lists in tx.execute(query.group_by(WatchMember.page_id)))
    return found


def updated(tx: Tx, times: Mapping[int, datetime]) -> None:
    """Pages were updated then: they and all lists that hold them show it."""
    if not times:
        return
    rows = [{"page": page, "time": at} for page, at in sorted(times.items())]
    for model, key in ((WatchPage, WatchPage.id), (WatchMember, WatchMember.page_id)):
        statement = update(model).where(key == bindparam("page")).values(updated_at=bindparam("time"))
        tx.connection().execute(statement, rows)


def listed(
    tx: Tx, list_id: str, *, after: tuple[datetime, int] | None, limit: int
) -> list[tuple[WatchPage, datetime, WatchState | None]]:
    """Pages of a list, the newest update first; those at one moment by their numbers, the newest first."""
    query = (
        select(WatchPage, WatchMember.updated_at, WatchState)
        .join(WatchMember, WatchMember.page_id == WatchPage.id)
        .outerjoin(WatchState, WatchState.page_id == WatchPage.id)
        .where(WatchMember.list_id == list_id)
        .order_by(WatchMember.updated_at.desc(), WatchMember.page_id.desc())
        .limit(limit)
    )
    if after is not None:
        at, page = after
        earlier = (WatchMember.updated_at < at) | ((WatchMember.updated_at == at) & (WatchMember.page_id < page))
        query = query.where(WatchMember.updated_at <= at, earlier)
    return [(page, at, state) for page, at, state in tx.execute(query)]


def freshness_facts(tx: Tx, list_id: str) -> Iterator[tuple[bool, datetime | None, datetime | None, bool]]:
    """Of each page of a list: paused, due at, last success, whether its last visit failed."""
    query = (
        select(WatchPage.paused, WatchDue.due_at, WatchState.last_success_at, WatchState.failures)
        .join(WatchMember, WatchMember.page_id == WatchPage.id)
        .outerjoin(WatchDue, WatchDue.page_id == WatchPage.id)
        .outerjoin(WatchState, WatchState.page_id == WatchPage.id)
        .where(WatchMember.list_id == list_id)
    )
    for paused, due_at, success_at, failures in tx.execute(query.execution_options(yield_per=1000)):
        yield bool(paused), due_at, success_at, bool(failures)


def _foreign(organization: str, organizations: Sequence[str] | None) -> bool:
    return organizations is not None and organization not in organizations


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
