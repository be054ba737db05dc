"""Rows of levels, their closings, and what stale runs said."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import func, select

from comity.contract.events import LevelClosed, LevelOpened
from comity.contract.ledger import AttemptEnd
from ledger.store import events
from ledger.store.database import Tx
from ledger.store.models import Closing, Crawl, Level, Page, StaleReport


def open_level(tx: Tx, *, crawl_id: str, depth: int, attempt: int, at: datetime) -> None:
    """A level that waits for its flow run. Its pages are there already."""
    tx.add(Level(crawl_id=crawl_id, depth=depth, attempt=attempt, opened_at=at))
    pending = _page_counts(tx, crawl_id, depth).get("pending", 0)
    events.tell(tx, crawl_id, LevelOpened(at=at, depth=depth, attempt=attempt, pages=pending))
    tx.flush()


def _page_counts(tx: Tx, crawl_id: str, depth: int) -> dict[str, int]:
    query = select(Page.state, func.count()).where(Page.crawl_id == crawl_id, Page.depth == depth).group_by(Page.state)
    return dict(tx.execute(query).all())


def current(tx: Tx, crawl: Crawl) -> Level:
    """The attempt that the crawl is at. Every crawl has one from its first moment on."""
    return tx.get_one(Level, (crawl.id, crawl.depth, crawl.attempt))


def of_attempt(tx: Tx, crawl_id: str, depth: int, attempt: int) -> Level | None:
    """An attempt at a level, or None."""
    return tx.get(Level, (crawl_id, depth, attempt))


def newest_dispatched(tx: Tx, crawl_ids: Iterable[str]) -> dict[str, Level]:
    """The last level of each crawl that a flow run is known for."""
    query = (
        select(Level)
        .where(Level.crawl_id.in_(list(crawl_ids)), Level.run_id.is_not(None) | Level.flow_run_id.is_not(None))
        .order_by(Level.depth, Level.attempt)
    )
    return {level.crawl_id: level for level in tx.scalars(query)}


def bind(tx: Tx, level: Level, *, run_id: str) -> None:
    """The run that speaks for the level, where none has before."""
    level.run_id = level.run_id or run_id
    tx.flush()


def progressed(tx: Tx, level: Level, *, at: datetime) -> None:
    """A page of the level was settled."""
    level.last_settled_at = at
    tx.flush()


def lost_run(tx: Tx, level: Level, *, flow_run_id: str | None) -> None:
    """Prefect no longer knows the run that was dispatched, and it never began."""
    if level.run_id is None and level.flow_run_id == flow_run_id:
        level.flow_run_id = level.prefect_state = level.prefect_state_at = None
        tx.flush()


def end(tx: Tx, level: Level, *, how: Literal["closed"] | AttemptEnd, reason: str | None = None, at: datetime) -> None:
    """Nothing more is expected from this attempt."""
    again = level.closed_at is not None
    level.closed_at, level.ended_as, level.ended_reason = at, how, reason
    tx.flush()
    if again:
        return
    counts = {"captured": 0, "failed": 0, "skipped": 0, "pending": 0} | _page_counts(tx, level.crawl_id, level.depth)
    events.tell(tx, level.crawl_id, LevelClosed(at=at, depth=level.depth, attempt=level.attempt, **counts))


def attempts(tx: Tx, crawl_id: str, depth: int) -> Sequence[Level]:
    """Every attempt at a level, oldest first."""
    query = select(Level).where(Level.crawl_id == crawl_id, Level.depth == depth).order_by(Level.attempt)
    return tx.scalars(query).all()


def broken(tx: Tx, crawl_ids: Iterable[str]) -> dict[str, list[Level]]:
    """The attempts of each crawl that ended without closing their level, oldest first."""
    query = (
        select(Level)
        .where(Level.crawl_id.in_(list(crawl_ids)), Level.ended_as.is_not(None), Level.ended_as != "closed")
        .order_by(Level.depth, Level.attempt)
    )
    found: dict[str, list[Level]] = {}
    for level in tx.scalars(query):
        found.setdefault(level.crawl_id, []).append(level)
    return found


def last_runs(tx: Tx, level: Level) -> tuple[Sequence[str], datetime | None]:
    """The runs of the newest attempt at this level that had any, and when it was last heard; it may be `level`."""
    for one in reversed(attempts(tx, level.crawl_id, level.depth)):
        if one.ended_as == "unstored":
            break  # it had come to its end, with nothing in hand
        runs = dict.fromkeys(run_id for run_id in (one.run_id, one.flow_run_id) if run_id is not None)
        if runs:
            return tuple(runs), one.last_seen_at
    return (), None


def closing(tx: Tx, crawl_id: str, depth: int) -> Closing | None:
    """The stored answer of a level that was closed, or None."""
    return tx.get(Closing, (crawl_id, depth))


def keep_closing(
    tx: Tx, *, crawl_id: str, depth: int, attempt: int, run_id: str, stop_reason: str | None, at: datetime
) -> None:
    """Store what a repeat is answered from."""
    tx.add(
        Closing(crawl_id=crawl_id, depth=depth, attempt=attempt, run_id=run_id, closed_at=at, stop_reason=stop_reason)
    )
    tx.flush()


def keep_stale(
    tx: Tx,
    *,
    crawl_id: str,
    kind: Literal["results", "pages", "failed"],
    depth: int,
    attempt: int,
    run_id: str,
    why: str,
    body: dict[str, Any],
    at: datetime,
) -> None:
    """Evidence of a run that does not hold the level."""
    tx.add(
        StaleReport(
            crawl_id=crawl_id,
            kind=kind,
            depth=depth,
            attempt=attempt,
            run_id=run_id,
            why=why,
            received_at=at,
            body=body,
        )
    )
    tx.flush()
