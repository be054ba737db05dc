"""Rows of the flow runs that extract for crawls."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import func, or_, select, update

from ledger.store import flow_runs
from ledger.store.database import Tx
from ledger.store.extractions import waits
from ledger.store.models import Crawl, Page
from ledger.store.models_extraction import Extraction, ExtractionRun


def open_run(tx: Tx, crawl_id: str, *, number: int, fruitless: int, at: datetime) -> None:
    """A run that waits to be handed to Prefect."""
    tx.add(ExtractionRun(crawl_id=crawl_id, number=number, fruitless=fruitless, opened_at=at))
    tx.flush()


def current(tx: Tx, crawl_id: str) -> ExtractionRun | None:
    """The crawl's run that has not ended, or None."""
    query = select(ExtractionRun).where(ExtractionRun.crawl_id == crawl_id, ExtractionRun.ended_at.is_(None))
    return tx.scalars(query).one_or_none()


def newest(tx: Tx, crawl_ids: Iterable[str]) -> dict[str, ExtractionRun]:
    """The last run of each crawl that had any."""
    last = (
        select(ExtractionRun.crawl_id, func.max(ExtractionRun.number).label("number"))
        .where(ExtractionRun.crawl_id.in_(list(crawl_ids)))
        .group_by(ExtractionRun.crawl_id)
        .subquery()
    )
    query = select(ExtractionRun).join(
        last, (last.c.crawl_id == ExtractionRun.crawl_id) & (last.c.number == ExtractionRun.number)
    )
    return {run.crawl_id: run for run in tx.scalars(query)}


def every_open(tx: Tx) -> Sequence[ExtractionRun]:
    """All runs that have not ended, oldest first."""
    query = select(ExtractionRun).where(ExtractionRun.ended_at.is_(None))
    return tx.scalars(query.order_by(ExtractionRun.opened_at, ExtractionRun.crawl_id)).all()


def waiting_crawls(tx: Tx, limit: int) -> list[str]:
    """Crawls with pairs of closed levels that wait while no run is at them, and that a run may follow for."""
    at_work = select(ExtractionRun.crawl_id).where(ExtractionRun.ended_at.is_(None) | ExtractionRun.final)
    query = (
        select(Crawl.id)
        .join(Extraction, Extraction.crawl_id == Crawl.id)
        .join(Page, Page.id == Extraction.page_id)
        .where(
            waits,
            or_(Crawl.state != "running", Page.depth < Crawl.depth),
            Crawl.id.not_in(at_work),
        )
        .group_by(Crawl.id)
        .order_by(Crawl.id)
        .limit(limit)
    )
    return list(tx.scalars(query))


def hear(tx: Tx, run: ExtractionRun, *, run_id: str, at: datetime, result: bool = False) -> None:
    """A sign of life, or a result. The first run that gives one holds the work."""
    if result:
        run.last_result_at = at
    flow_runs.hear(tx, run, run_id=run_id, at=at)


def lost(tx: Tx, run: ExtractionRun) -> None:
    """Prefect no longer knows the run, and it never began: it is as good as never dispatched."""
    if run.run_id is None:
        run.flow_run_id = run.prefect_state = run.prefect_state_at = None
        tx.flush()


def end(tx: Tx, run: ExtractionRun, *, how: str, reason: str | None = None, final: bool = False, at: datetime) -> None:
    """Nothing more is expected of it. `final`: and no other follows by itself."""
    run.ended_at, run.ended_as, run.ended_reason, run.final = at, how, reason, final
    tx.flush()


def allow_more(tx: Tx, crawl_id: str) -> None:
    """Somebody asked for another run, however the ones before ended."""
    tx.execute(update(ExtractionRun).where(ExtractionRun.crawl_id == crawl_id).values(final=False))
