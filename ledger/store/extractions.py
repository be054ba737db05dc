"""Rows of what extractors gave, or are still to give, for captured pages."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, literal_column, select, tuple_
from sqlalchemy.orm import undefer

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models import Page
from ledger.store.models_extraction import CrawlExtractor, Extraction

PENDING, EXTRACTED, FAILED = "pending", "extracted", "failed"
waits = Extraction.state == literal_column("'pending'")
"""Written out, not bound: SQLite uses the index over what is pending for nothing else."""
ROWS_AT_ONCE = 20
IDS_PER_QUERY = 500


@dataclass(frozen=True)
class Counts:
    """(page, extractor) pairs of a crawl; `partial` are among the extracted."""

    pending: int = 0
    extracted: int = 0
    failed: int = 0
    partial: int = 0


@dataclass(frozen=True)
class Listed:
    """An extraction that is over, with the page and the extractor that it is of."""

    row: Extraction
    page: Page
    extractor: CrawlExtractor


def want(tx: Tx, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, pending or failed from the start; those that are there already stay as they are."""
    dialect.insert_new(tx, Extraction, rows, ["crawl_id", "position", "place"])


def counts(tx: Tx, crawl_ids: Iterable[str]) -> dict[str, Counts]:
    """Counts of each crawl that has any, from the index alone."""
    query = (
        select(Extraction.crawl_id, Extraction.state, Extraction.partial, func.count())
        .where(Extraction.crawl_id.in_(list(crawl_ids)))
        .group_by(Extraction.crawl_id, Extraction.state, Extraction.partial)
    )
    found: dict[str, dict[str, int]] = {}
    for crawl_id, state, partial, count in tx.execute(query):
        of_crawl = found.setdefault(crawl_id, {})
        of_crawl[state] = of_crawl.get(state, 0) + count
        if partial:
            of_crawl["partial"] = of_crawl.get("partial", 0) + count
    return {crawl_id: Counts(**of_crawl) for crawl_id, of_crawl in found.items()}


def any_pending(tx: Tx, crawl_id: str) -> bool:
    """Whether anything of the crawl waits to be extracted."""
    query = select(Extraction.position).where(Extraction.crawl_id == crawl_id, waits).limit(1)
    return tx.execute(query).first() is not None


def pending(tx: Tx, crawl_id: str, limit: int) -> list[tuple[Extraction, Page]]:
    """The first pairs that wait, in frontier order, each with its page."""
    query = (
        select(Extraction, Page)
        .join(Page, Page.id == Extraction.page_id)
        .where(Extraction.crawl_id == crawl_id, waits)
        .order_by(Extraction.position, Extraction.place)
        .limit(limit)
    )
    return [(row, page) for row, page in tx.execute(query)]


def of_pages(tx: Tx, crawl_id: str, page_ids: Iterable[str]) -> dict[tuple[str, int], Extraction]:
    """Rows of these pages of the crawl, by page id and the extractor's place."""
    every = sorted(set(page_ids))
    found: dict[tuple[str, int], Extraction] = {}
    for start in range(0, len(every), IDS_PER_QUERY):
        chunk = every[start : start + IDS_PER_QUERY]
        query = select(Extraction).where(Extraction.page_id.in_(chunk), Extraction.crawl_id == crawl_id)
        for row in tx.scalars(query):
            found[row.page_id, row.place] = row
    return found


def extracted(row: Extraction, *, value: str, warnings: str, partial: bool, at: datetime) -> None:
    """The pair has its value; written when the transaction ends."""
    row.state, row.value, row.warnings, row.partial, row.extracted_at = EXTRACTED, value, warnings, partial, at


def failed(row: Extraction, *, code: str, message: str, path: str | None, warnings: str, at: datetime) -> None:
    """The pair gave nothing, for this reason; written when the transaction ends."""
    row.state, row.error_code, row.error_message, row.error_path = FAILED, code, message, path
    row.warnings, row.extracted_at = warnings, at


@contextmanager
def listed(
    tx: Tx, crawl_id: str, *, after: tuple[int, int] | None, extractor: str | None, state: str | None, limit: int
) -> Iterator[Iterator[Listed]]:
    """Pairs that are over, pages in frontier order, read a few at a time, as far as they are wanted.

    `after` is the (position, place) of the last one that was seen.
    """
    query = (
        select(Extraction, Page, CrawlExtractor)
        .join(Page, Page.id == Extraction.page_id)
        .join(
            CrawlExtractor,
            (CrawlExtractor.crawl_id == Extraction.crawl_id) & (CrawlExtractor.place == Extraction.place),
        )
        .where(Extraction.crawl_id == crawl_id, Extraction.state.in_([EXTRACTED, FAILED] if state is None else [state]))
        .order_by(Extraction.position, Extraction.place)
        .options(undefer(Extraction.value), undefer(Extraction.warnings))
        .limit(limit)
    )
    if after is not None:
        query = query.where(tuple_(Extraction.position, Extraction.place) > tuple_(*after))
    if extractor is not None:
        query = query.where(CrawlExtractor.extractor_id == extractor)
    with tx.execute(query.execution_options(yield_per=ROWS_AT_ONCE)) as rows:
        yield (Listed(row, page, pin) for row, page, pin in rows)
