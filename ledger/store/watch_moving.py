"""Rows of watched pages, as moving in from another system takes them: in order, many at a time."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import func, select, update

from ledger.store.database import Tx
from ledger.store.models_watch import WatchEvent, WatchMember, WatchPage


def chosen(
    tx: Tx,
    organizations: Sequence[str] | None,
    *,
    after: int,
    until: int | None,
    list_id: str | None,
    limit: int,
) -> Sequence[WatchPage]:
    """Pages with numbers over `after` and up to `until`, in order, their rows locked."""
    query = select(WatchPage).where(WatchPage.id > after).order_by(WatchPage.id).limit(limit)
    if until is not None:
        query = query.where(WatchPage.id <= until)
    if organizations is not None:
        query = query.where(WatchPage.organization.in_(organizations))
    if list_id is not None:
        query = query.where(WatchPage.id.in_(select(WatchMember.page_id).where(WatchMember.list_id == list_id)))
    return tx.scalars(query.with_for_update()).all()


def set_version(tx: Tx, pages: Collection[int], version: int) -> None:
    """Who visits these pages from now on."""
    tx.execute(update(WatchPage).where(WatchPage.id.in_(pages)).values(version=version))


def these(tx: Tx, pages: Collection[int]) -> dict[int, WatchPage]:
    """These pages as they are."""
    return {page.id: page for page in tx.scalars(select(WatchPage).where(WatchPage.id.in_(pages)))}


def locked(tx: Tx, pages: Collection[int]) -> dict[int, WatchPage]:
    """These pages, their rows locked, in one order for everybody."""
    query = select(WatchPage).where(WatchPage.id.in_(pages)).order_by(WatchPage.id).with_for_update()
    return {page.id: page for page in tx.scalars(query.execution_options(populate_existing=True))}


def changes(tx: Tx, organizations: Sequence[str] | None, *, after: int, limit: int) -> list[tuple[WatchEvent, int]]:
    """Changes that were found, oldest first, each with its page's version."""
    query = (
        select(WatchEvent, WatchPage.version)
        .join(WatchPage, WatchPage.id == WatchEvent.page_id)
        .where(WatchEvent.id > after, WatchEvent.kind == "changed")
        .order_by(WatchEvent.id)
        .limit(limit)
    )
    if organizations is not None:
        query = query.where(WatchEvent.organization.in_(organizations))
    return [(event, version) for event, version in tx.execute(query)]


def newest_before(tx: Tx, at: datetime, *, upper: int) -> int:
    """The number of the newest event that is older than `at`, up to `upper`; 0 where there is none."""
    query = select(func.max(WatchEvent.id)).where(WatchEvent.id <= upper, WatchEvent.at < at)
    return tx.scalar(query) or 0
