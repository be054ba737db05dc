"""The row of the last fit, and the pages that a fit looks at."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import func, select

from ledger.store.database import Tx
from ledger.store.models_price import ONLY, WatchPrice
from ledger.store.models_watch import WatchMember, WatchPage, WatchState, WatchVisit

ROWS = 5_000
SampledPage = tuple[dict[str, Any] | None, list[float] | None, int]


def last(tx: Tx) -> WatchPrice | None:
    """The last fit, or None before the first."""
    return tx.get(WatchPrice, ONLY, populate_existing=True)


def keep(tx: Tx, row: WatchPrice) -> None:
    """This is the last fit from now on."""
    row.id = ONLY
    tx.merge(row)
    tx.flush()


def newest_visit(tx: Tx) -> int:
    """The number of the newest visit; 0 before the first."""
    return tx.scalar(select(func.max(WatchVisit.id))) or 0


def pages(tx: Tx, version: int) -> int:
    """How many pages are visited."""
    query = select(func.count()).select_from(WatchPage).where(WatchPage.version == version, ~WatchPage.paused)
    return tx.scalar(query) or 0


def sample(tx: Tx, version: int, every: int) -> Iterator[SampledPage]:
    """Settings, what is learnt of the rate, and the number of lists, of each `every`-th page that is visited."""
    lists = (
        select(func.count())
        .select_from(WatchMember)
        .where(WatchMember.page_id == WatchPage.id)
        .correlate(WatchPage)
        .scalar_subquery()
    )
    query = (
        select(WatchPage.settings, WatchState.rate, lists)
        .outerjoin(WatchState, WatchState.page_id == WatchPage.id)
        .where(WatchPage.version == version, ~WatchPage.paused, WatchPage.id % every == 0)
        .execution_options(yield_per=ROWS)
    )
    yield from tx.execute(query)
