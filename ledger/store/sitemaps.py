"""Rows of sitemaps that a level read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select, update

from ledger.store import dialect
from ledger.store.database import Tx
from ledger.store.models_sitemaps import SitemapPart


def keep(tx: Tx, rows: Sequence[dict[str, Any]]) -> None:
    """Keep every part that is not known yet."""
    dialect.insert_new(tx, SitemapPart, rows, ["crawl_id", "depth", "url", "part"])


@contextmanager
def links_of_level(tx: Tx, crawl_id: str, depth: int) -> Iterator[Iterator[list[str]]]:
    """Links of each part, in the order in which they came, read a few at a time, as far as they are wanted."""
    query = (
        select(SitemapPart.links)
        .where(SitemapPart.crawl_id == crawl_id, SitemapPart.depth == depth)
        .order_by(SitemapPart.id)
    )
    with tx.scalars(query.execution_options(yield_per=5)) as rows:
        yield iter(rows)


def drop_links(tx: Tx, crawl_id: str, depth: int) -> None:
    """The level is closed: its links have become the frontier. What was read stays."""
    of_level = (SitemapPart.crawl_id == crawl_id, SitemapPart.depth == depth)
    tx.execute(update(SitemapPart).where(*of_level).values(links=[]))
