"""What visits of watched pages found out: states, history, evidence, events and contents."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import undefer

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_watch import (
    WatchContent,
    WatchEvent,
    WatchPage,
    WatchRequest,
    WatchState,
    WatchVisit,
)

STATE_COLUMNS = [column.name for column in WatchState.__table__.columns if column.name != "page_id"]
ROWS_AT_ONCE = 1000


def states(tx: Tx, pages: Collection[int]) -> dict[int, WatchState]:
    """What is known of these pages; nothing of those that were never reported."""
    query = select(WatchState).where(WatchState.page_id.in_(pages))
    return {state.page_id: state for state in tx.scalars(query.execution_options(populate_existing=True))}


def keep_states(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """What is known of pages from now on; every column in every row."""
    dialect.upsert(tx, WatchState, rows, ["page_id"], STATE_COLUMNS)


def pages_to_report(tx: Tx, pages: Collection[int]) -> dict[int, WatchPage]:
    """The pages that are still there, kept from going until the transaction ends."""
    query = select(WatchPage).where(WatchPage.id.in_(pages)).order_by(WatchPage.id)
    query = query.with_for_update(read=True, key_share=True)
    return {page.id: page for page in tx.scalars(query.execution_options(populate_existing=True))}


def add_visits(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """History."""
    if rows:
        tx.execute(insert(WatchVisit), list(rows))


def add_requests(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Evidence."""
    if rows:
        tx.execute(insert(WatchRequest), list(rows))


def add_event(tx: Tx, event: WatchEvent) -> int:
    """Something to be told; returns its number."""
    tx.add(event)
    tx.flush()
    return event.id


def add_content(tx: Tx, content: WatchContent) -> None:
    """A content that lies in the artifact store."""
    tx.add(content)


def add_contents(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Contents that lie in the artifact store, in one statement: one for each was most of an import's statements."""
    if rows:
        tx.execute(insert(WatchContent), list(rows))


def forget_old_contents(tx: Tx, page_id: int, keep: int) -> list[str]:
    """Forget the page's contents but for the newest `keep`; returns where they lie, for whoever removes them."""
    tx.flush()
    query = select(WatchContent).where(WatchContent.page_id == page_id).order_by(WatchContent.id.desc()).offset(keep)
    old = tx.scalars(query).all()
    tx.execute(delete(WatchContent).where(WatchContent.id.in_([content.id for content in old])))
    return [content.location for content in old]


def forget_content(tx: Tx, page_id: int) -> list[str]:
    """What is known of the page's content does not hold any more; returns where contents lie that nothing names."""
    gone = [content.location for content in contents_of(tx, page_id)]
    tx.execute(delete(WatchContent).where(WatchContent.page_id == page_id))
    unknown = dict.fromkeys(("etag", "last_modified", "final_url", "title", "content_sha256"))
    unknown |= dict.fromkeys(("content_location", "content_at", "volatile_lines", "last_token"))
    statement = update(WatchState).where(WatchState.page_id == page_id).values(**unknown)
    tx.execute(statement.execution_options(synchronize_session="fetch"))
    return gone


def contents_of(tx: Tx, page_id: int) -> Sequence[WatchContent]:
    """All contents of the page that are kept."""
    return tx.scalars(select(WatchContent).where(WatchContent.page_id == page_id)).all()


def history(tx: Tx, page_id: int, *, before: int | None, limit: int) -> Sequence[WatchVisit]:
    """Visits of the page, newest first."""
    query = select(WatchVisit).where(WatchVisit.page_id == page_id).order_by(WatchVisit.id.desc()).limit(limit)
    return tx.scalars(query if before is None else query.where(WatchVisit.id < before)).all()


def events(tx: Tx, page_id: int, *, before: int | None, limit: int) -> Sequence[WatchEvent]:
    """Events of the page, newest first, without their diffs."""
    query = select(WatchEvent).where(WatchEvent.page_id == page_id).order_by(WatchEvent.id.desc()).limit(limit)
    return tx.scalars(query if before is None else query.where(WatchEvent.id < before)).all()


def event(tx: Tx, page_id: int, number: int) -> WatchEvent | None:
    """One event of the page with its diff."""
    query = select(WatchEvent).where(WatchEvent.id == number, WatchEvent.page_id == page_id)
    return tx.scalars(query.options(undefer(WatchEvent.diff))).one_or_none()


def forget_visits(tx: Tx, *, before: datetime) -> int:
    """Remove the oldest history and evidence, some rows of each; returns how many went, 0 when there is no more.

    Numbers grow with time, so that the oldest are found without an index over times.
    """
    gone = 0
    for model, at in ((WatchVisit, WatchVisit.at), (WatchRequest, WatchRequest.received_at)):
        oldest = select(model.id).order_by(model.id).limit(ROWS_AT_ONCE)
        rows = list(tx.scalars(select(model.id).where(model.id.in_(oldest), at < before)))
        if rows:
            tx.execute(delete(model).where(model.id.in_(rows)))
        gone += len(rows)
    return gone
