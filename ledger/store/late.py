"""Rows of manifests that are late."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select

from comity.contract.ledger import PageResult
from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models import Crawl, Page
from ledger.store.models_artifacts import LateManifest


def mark(tx: Tx, result: PageResult, *, attempt: int, problem: str, at: datetime) -> None:
    """The page's manifest is looked for from now on."""
    row = {
        "page_id": result.page_id,
        "attempt": attempt,
        "result": result.to_wire(),
        "problem": problem,
        "marked_at": at,
        "next_look_at": at,
    }
    dialect.upsert(tx, LateManifest, [row], ["page_id"], ["attempt", "result", "problem", "marked_at", "next_look_at"])


def due(
    tx: Tx, organizations: Sequence[str] | None, *, now: datetime, limit: int
) -> Sequence[tuple[LateManifest, str]]:
    """Manifests whose time has come, the longest due first, each with its crawl's id; `organizations` None: of all."""
    query = (
        select(LateManifest, Page.crawl_id)
        .join(Page, Page.id == LateManifest.page_id)
        .where(LateManifest.next_look_at <= now)
        .order_by(LateManifest.next_look_at)
        .limit(limit)
    )
    if organizations is not None:
        query = query.join(Crawl, Crawl.id == Page.crawl_id).where(Crawl.organization.in_(organizations))
    return [(row, crawl_id) for row, crawl_id in tx.execute(query)]


def of_crawl(tx: Tx, crawl_id: str) -> Sequence[tuple[LateManifest, str]]:
    """All of one crawl."""
    query = select(LateManifest).join(Page, Page.id == LateManifest.page_id).where(Page.crawl_id == crawl_id)
    return [(row, crawl_id) for row in tx.scalars(query.order_by(LateManifest.marked_at))]


def get(tx: Tx, page_id: str) -> LateManifest | None:
    """What is known of a page's late manifest, or None where it is not looked for."""
    return tx.get(LateManifest, page_id)


def looked(tx: Tx, row: LateManifest, *, problem: str, next_look_at: datetime) -> None:
    """Not there yet."""
    row.problem, row.next_look_at = problem, next_look_at
    tx.flush()


def forget(tx: Tx, page_id: str) -> None:
    """It has come, or it never will."""
    tx.execute(delete(LateManifest).where(LateManifest.page_id == page_id))
