"""Captured pages as archives: what there is to list, to hand out and to index."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Row, func, or_, select

from ledger.store.database import Tx
from ledger.store.models import Crawl, Page, Visit
from ledger.store.models_artifacts import PageText


def _has(kind: str) -> ColumnElement[bool]:
    there: ColumnElement[bool] = Page.artifacts[kind].as_string().is_not(None)
    return there


def _of(organizations: Sequence[str] | None) -> list[ColumnElement[bool]]:
    return [] if organizations is None else [Crawl.organization.in_(list(organizations))]


def newest(
    tx: Tx, *, before: tuple[datetime, str] | None, limit: int, organizations: Sequence[str] | None
) -> Sequence[Row[Page, Crawl, str]]:
    """(page, crawl, title) of captured pages with an archive, newest first, those before the cursor alone."""
    query = (
        select(Page, Crawl, PageText.title)
        .join(Crawl, Crawl.id == Page.crawl_id)
        .outerjoin(PageText, PageText.page_id == Page.id)
        .where(Page.state == "captured", _has("wacz"), *_of(organizations))
        .order_by(Page.settled_at.desc(), Page.id.desc())
        .limit(limit)
    )
    if before is not None:
        at, page_id = before
        query = query.where(or_(Page.settled_at < at, (Page.settled_at == at) & (Page.id < page_id)))
    return tx.execute(query).all()


def get(tx: Tx, page_id: str, *, organizations: Sequence[str] | None) -> Page | None:
    """A captured page with an archive, if it belongs to one of these organisations."""
    query = (
        select(Page)
        .join(Crawl, Crawl.id == Page.crawl_id)
        .where(Page.id == page_id, Page.state == "captured", _has("wacz"), *_of(organizations))
    )
    return tx.scalars(query).one_or_none()


def of_task(tx: Tx, task_id: str, *, organizations: Sequence[str] | None) -> Row[Visit, Page, Crawl] | None:
    """(visit, page, crawl) of a capture server's task."""
    query = (
        select(Visit, Page, Crawl)
        .join(Page, Page.id == Visit.page_id)
        .join(Crawl, Crawl.id == Page.crawl_id)
        .where(Visit.task_id == task_id, *_of(organizations))
        .order_by(Visit.id)
        .limit(1)
    )
    return tx.execute(query).first()


def not_indexed(
    tx: Tx, *, crawl_id: str | None, organizations: Sequence[str] | None, since: datetime | None, limit: int
) -> Sequence[Page]:
    """Captured pages whose manifest was admitted and that the index does not know, the newest first.

    Of one crawl, or of these organisations (None: of all).
    """
    query = (
        select(Page)
        .outerjoin(PageText, PageText.page_id == Page.id)
        .where(Page.state == "captured", PageText.id.is_(None), or_(_has("wacz"), _has("html")))
        .order_by(Page.settled_at.desc(), Page.id)
        .limit(limit)
    )
    if crawl_id is not None:
        query = query.where(Page.crawl_id == crawl_id)
    if organizations is not None:
        query = query.join(Crawl, Crawl.id == Page.crawl_id).where(Crawl.organization.in_(organizations))
    if since is not None:
        query = query.where(Page.settled_at > since)
    return tx.scalars(query).all()


def index_counts(tx: Tx, crawl_id: str) -> tuple[int, int]:
    """How many captured pages of the crawl search can find, and how many there are."""
    query = (
        select(func.count(PageText.id), func.count(Page.id))
        .select_from(Page)
        .outerjoin(PageText, (PageText.page_id == Page.id) & PageText.problem.is_(None))
        .where(Page.crawl_id == crawl_id, Page.state == "captured")
    )
    indexed, captured = tx.execute(query).one()
    return indexed, captured
