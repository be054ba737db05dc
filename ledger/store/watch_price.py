"""The row of the last fit, and the pages that a fit looks at, or brings forward."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ScalarSelect, bindparam, func, or_, select, update

from ledger.store.database import Tx
from ledger.store.models_price import ONLY, WatchPrice
from ledger.store.models_watch import WatchMember, WatchPage, WatchState, WatchVisit
from ledger.store.models_watch_queue import WatchDue

ROWS = 5_000
SampledPage = tuple[dict[str, Any] | None, list[float] | None, int, int]
"""Settings, what is learnt of the rate, the number of lists, and of visits that did not fail."""
LEARNT = ("unchanged", "not-modified", "changed")
"""Outcomes after which a page is due by its rate. Others have times of their own: a second look, a try again."""


@dataclass(frozen=True)
class WaitingPage:
    """A page that is due by its rate."""

    page_id: int
    organization: str
    settings: dict[str, Any] | None
    rate: list[float]
    last_visit_at: datetime
    lists: int


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
    return tx.scalar(select(func.count()).select_from(WatchPage).where(*_visited(version))) or 0


def pages_not_fixed(tx: Tx, version: int, fixing_canaries: Collection[str]) -> int:
    """How many of them have no fixed interval, of their own or by a canary."""
    interval, canary = (WatchPage.settings[name].as_string() for name in ("fixedIntervalMs", "canary"))
    free = or_(interval.is_(None), WatchPage.settings.is_(None))
    if fixing_canaries:
        free &= or_(canary.is_(None), canary.not_in(fixing_canaries))
    return tx.scalar(select(func.count()).select_from(WatchPage).where(*_visited(version), free)) or 0


def sample(tx: Tx, version: int, every: int, *, after_visit: int) -> Iterator[SampledPage]:
    """Each `every`-th page that is visited, with its visits since the visit of that number."""
    visits = (
        select(func.count())
        .select_from(WatchVisit)
        .where(WatchVisit.page_id == WatchPage.id, WatchVisit.id > after_visit, WatchVisit.outcome != "failed")
        .correlate(WatchPage)
        .scalar_subquery()
    )
    query = (
        select(WatchPage.settings, WatchState.rate, _lists(), visits)
        .outerjoin(WatchState, WatchState.page_id == WatchPage.id)
        .where(*_visited(version), WatchPage.id % every == 0)
        .execution_options(yield_per=ROWS)
    )
    yield from tx.execute(query)


def learnt_pages(tx: Tx, version: int, *, after: int, limit: int) -> Sequence[tuple[int, int]]:
    """Pages of the queue that are due by their rate, in the order of their numbers: (page, host)."""
    query = (
        select(WatchDue.page_id, WatchDue.host_id)
        .join(WatchPage, WatchPage.id == WatchDue.page_id)
        .join(WatchState, WatchState.page_id == WatchDue.page_id)
        .where(WatchDue.page_id > after, WatchPage.version == version, WatchState.last_outcome.in_(LEARNT))
        .order_by(WatchDue.page_id)
        .limit(limit)
    )
    return [(page, host) for page, host in tx.execute(query)]


def waiting(tx: Tx, of: Collection[int]) -> list[WaitingPage]:
    """Those of these pages that are due by their rate still."""
    query = (
        select(
            WatchPage.id,
            WatchPage.organization,
            WatchPage.settings,
            WatchState.rate,
            WatchState.last_visit_at,
            _lists(),
        )
        .join(WatchState, WatchState.page_id == WatchPage.id)
        .where(WatchPage.id.in_(of), WatchState.last_outcome.in_(LEARNT), WatchState.last_visit_at.is_not(None))
    )
    return [WaitingPage(*row) for row in tx.execute(query) if row.rate is not None]


def explain(tx: Tx, because: Sequence[tuple[int, str]]) -> None:
    """Why pages are due when they are: (page, because)."""
    if because:
        statement = update(WatchState).where(WatchState.page_id == bindparam("page"))
        rows = [{"page": page, "why": why} for page, why in because]
        tx.connection().execute(statement.values(because=bindparam("why")), rows)


def _visited(version: int) -> tuple[Any, ...]:
    return WatchPage.version == version, ~WatchPage.paused


def _lists() -> ScalarSelect[int]:
    return (
        select(func.count())
        .select_from(WatchMember)
        .where(WatchMember.page_id == WatchPage.id)
        .correlate(WatchPage)
        .scalar_subquery()
    )
