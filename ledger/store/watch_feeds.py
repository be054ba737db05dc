"""Rows of feeds, and the events that they show."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import undefer

from ledger.store.database import Tx
from ledger.store.models_telling import WatchFeed
from ledger.store.models_watch import WatchEvent, WatchMember


def add(tx: Tx, row: WatchFeed) -> None:
    """A new feed."""
    tx.add(row)
    tx.flush()


def get(tx: Tx, ident: str, organizations: Sequence[str] | None) -> WatchFeed | None:
    """The feed, or None where these organisations have none by that id."""
    row = tx.get(WatchFeed, ident)
    return None if row is None or (organizations is not None and row.organization not in organizations) else row


def by_digest(tx: Tx, digest: str) -> WatchFeed | None:
    """The feed whose address has that hash."""
    return tx.scalars(select(WatchFeed).where(WatchFeed.digest == digest)).one_or_none()


def every(tx: Tx, organizations: Sequence[str] | None) -> Sequence[WatchFeed]:
    """The feeds of these organisations, oldest first."""
    query = select(WatchFeed).order_by(WatchFeed.created_at, WatchFeed.id)
    if organizations is not None:
        query = query.where(WatchFeed.organization.in_(organizations))
    return tx.scalars(query).all()


def remove(tx: Tx, row: WatchFeed) -> None:
    """Its addresses lead nowhere any more."""
    tx.delete(row)
    tx.flush()


def was_read(tx: Tx, ident: str, *, at: datetime) -> None:
    """Somebody read the feed."""
    tx.execute(update(WatchFeed).where(WatchFeed.id == ident).values(last_read_at=at))


def newest(tx: Tx, row: WatchFeed, limit: int) -> Sequence[WatchEvent]:
    """What the feed shows, newest first, with its diffs."""
    query = select(WatchEvent).options(undefer(WatchEvent.diff)).order_by(WatchEvent.id.desc()).limit(limit)
    if row.page_id is not None:
        query = query.where(WatchEvent.page_id == row.page_id)
    else:
        members = select(WatchMember.page_id).where(WatchMember.list_id == row.list_id)
        query = query.where(WatchEvent.page_id.in_(members), WatchEvent.organization == row.organization)
    return tx.scalars(query).all()
