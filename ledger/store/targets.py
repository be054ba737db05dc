"""Rows of capture targets, in the order they were added."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import func, select

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models import Target


def every(tx: Tx, organizations: Sequence[str] | None, *, enabled: bool | None = None) -> Sequence[Target]:
    """All targets of these organisations (None: all there are), or those that are enabled, or those that are not."""
    query = select(Target).order_by(Target.position)
    if organizations is not None:
        query = query.where(Target.organization.in_(organizations))
    return tx.scalars(query if enabled is None else query.where(Target.enabled.is_(enabled))).all()


def enabled_urls(tx: Tx, organizations: Sequence[str], limit: int) -> list[str]:
    """URLs of the first enabled targets of these organisations, each once."""
    query = (
        select(Target.url)
        .where(Target.enabled, Target.organization.in_(organizations))
        .group_by(Target.url)
        .order_by(func.min(Target.position))
    )
    return list(tx.scalars(query.limit(limit)))


def get(tx: Tx, target_id: str, organizations: Sequence[str] | None) -> Target | None:
    """The target, or None where these organisations have none by that id."""
    target = tx.get(Target, target_id)
    if target is None or (organizations is not None and target.organization not in organizations):
        return None
    return target


def add(tx: Tx, targets: Sequence[tuple[str, str, list[str]]], *, organization: str, at: datetime) -> None:
    """Add (id, URL, labels), enabled, to an organisation's. A URL that it has already stays as it is."""
    first = tx.scalar(select(func.coalesce(func.max(Target.position), -1)))
    assert first is not None
    rows = [
        {
            "id": ident,
            "organization": organization,
            "position": first + place,
            "url": url,
            "enabled": True,
            "labels": labels,
            "added_at": at,
        }
        for place, (ident, url, labels) in enumerate(targets, start=1)
    ]
    dialect.insert_new(tx, Target, rows, ["organization", "url"])


def by_url(tx: Tx, urls: Iterable[str], organization: str) -> dict[str, Target]:
    """The organisation's targets by URL."""
    wanted = list(urls)
    found: dict[str, Target] = {}
    for start in range(0, len(wanted), 500):
        query = select(Target).where(Target.organization == organization, Target.url.in_(wanted[start : start + 500]))
        for target in tx.scalars(query):
            found[target.url] = target
    return found


def change(tx: Tx, target: Target, *, enabled: bool | None, labels: list[str] | None) -> None:
    """Set what is given."""
    if enabled is not None:
        target.enabled = enabled
    if labels is not None:
        target.labels = labels
    tx.flush()


def remove(tx: Tx, target: Target) -> None:
    """Forget the target."""
    tx.delete(target)
    tx.flush()
