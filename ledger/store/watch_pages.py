"""Rows of watched pages and of their labels."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select

from ledger.store import dialect, watch_lists
from ledger.store.database import Tx
from ledger.store.models_watch import WatchLabel, WatchPage, WatchState
from ledger.store.models_watch_queue import WatchDue, WatchJob, WatchTally

AT_ONCE = 500


@dataclass(frozen=True)
class PageRow:
    """A page with what is known of it, and its place in the queue."""

    page: WatchPage
    state: WatchState | None
    due_at: datetime | None
    in_flight: bool
    labels: list[str]
    lists: list[str]


def by_digest(tx: Tx, digests: Collection[bytes]) -> dict[bytes, int]:
    """The numbers of the pages that there are already."""
    found: dict[bytes, int] = {}
    for part in _parts(sorted(digests)):
        query = select(WatchPage.url_digest, WatchPage.id).where(WatchPage.url_digest.in_(part))
        found.update((key, value) for key, value in tx.execute(query))
    return found


def add(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """New pages. One whose URL the organisation has already stays as it is."""
    dialect.insert_new(tx, WatchPage, rows, ["url_digest"])


def get(tx: Tx, number: int, organizations: Sequence[str] | None, *, lock: bool = False) -> WatchPage | None:
    """The page, or None where these organisations have none by that number."""
    query = select(WatchPage).where(WatchPage.id == number)
    page = tx.scalars(query.with_for_update() if lock else query).one_or_none()
    return None if page is None or _foreign(page.organization, organizations) else page


def those(tx: Tx, numbers: Collection[int], organizations: Sequence[str] | None) -> set[int]:
    """Which of these pages the organisations have."""
    found: set[int] = set()
    for part in _parts(sorted(numbers)):
        query = select(WatchPage.id).where(WatchPage.id.in_(part))
        if organizations is not None:
            query = query.where(WatchPage.organization.in_(organizations))
        found.update(tx.scalars(query))
    return found


def several(
    tx: Tx,
    organizations: Sequence[str] | None,
    *,
    after: int,
    limit: int,
    label: str | None = None,
    digests: Sequence[bytes] | None = None,
) -> list[PageRow]:
    """Pages of these organisations, oldest first: those with the label, or of these URLs, or all."""
    query = select(WatchPage).where(WatchPage.id > after).order_by(WatchPage.id).limit(limit)
    if organizations is not None:
        query = query.where(WatchPage.organization.in_(organizations))
    if label is not None:
        query = query.join(WatchLabel, WatchLabel.page_id == WatchPage.id).where(WatchLabel.label == label)
    if digests is not None:
        query = query.where(WatchPage.url_digest.in_(digests))
    return rows_of(tx, tx.scalars(query).all())


def rows_of(tx: Tx, pages: Sequence[WatchPage]) -> list[PageRow]:
    """These pages with all that is known of them."""
    numbers = [page.id for page in pages]
    states = {state.page_id: state for state in tx.scalars(select(WatchState).where(WatchState.page_id.in_(numbers)))}
    dues = tx.execute(select(WatchDue.page_id, WatchDue.due_at).where(WatchDue.page_id.in_(numbers)))
    due = dict(dues.all())
    flying = set(tx.scalars(select(WatchJob.page_id).where(WatchJob.page_id.in_(numbers))))
    labels, lists = labels_of(tx, numbers), watch_lists.of_pages(tx, numbers)
    return [
        PageRow(page, states.get(page.id), due.get(page.id), page.id in flying, labels[page.id], lists[page.id])
        for page in pages
    ]


def remove(tx: Tx, page: WatchPage) -> None:
    """The page, and all that was known of it."""
    tx.delete(page)
    tx.flush()


def organizations(tx: Tx) -> Sequence[str]:
    """Those that watch anything."""
    return tx.scalars(select(WatchTally.organization).distinct().order_by(WatchTally.organization)).all()


# --- labels


def label(tx: Tx, labels: Mapping[int, Sequence[str]]) -> None:
    """Pages get these labels too."""
    rows = [
        {"page_id": page, "label": one, "position": place}
        for page, its in labels.items()
        for place, one in enumerate(dict.fromkeys(its))
    ]
    dialect.insert_new(tx, WatchLabel, rows, ["page_id", "label"])


def unlabel(tx: Tx, page: int) -> None:
    """The page has no labels."""
    tx.execute(delete(WatchLabel).where(WatchLabel.page_id == page))


def labels_of(tx: Tx, pages: Collection[int]) -> dict[int, list[str]]:
    """Labels by page, in the order in which they were given."""
    found: dict[int, list[str]] = defaultdict(list)
    query = select(WatchLabel.page_id, WatchLabel.label).where(WatchLabel.page_id.in_(pages))
    for page, one in tx.execute(query.order_by(WatchLabel.page_id, WatchLabel.position, WatchLabel.label)):
        found[page].append(one)
    return found


def _foreign(organization: str, organizations: Sequence[str] | None) -> bool:
    return organizations is not None and organization not in organizations


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))
