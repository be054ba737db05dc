"""Rows of the extractors that crawls pinned."""

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import undefer

from ledger.store.database import Tx
from ledger.store.models_catalogue import ExtractorVersion
from ledger.store.models_extraction import CrawlExtractor


def pin(tx: Tx, crawl_id: str, pins: Sequence[tuple[ExtractorVersion, str]]) -> None:
    """Write the crawl's extractors, each with its URL pattern, in the order given."""
    tx.add_all(
        CrawlExtractor(
            crawl_id=crawl_id,
            place=place,
            extractor_id=of.extractor_id,
            version=of.version,
            name=of.name,
            url_pattern=pattern,
            program=of.program,
            sha256=of.sha256,
        )
        for place, (of, pattern) in enumerate(pins)
    )
    tx.flush()


def pinned(tx: Tx, crawl_ids: Iterable[str], *, with_program: bool = False) -> dict[str, list[CrawlExtractor]]:
    """The pinned extractors of each crawl that has any, in order."""
    query = select(CrawlExtractor).where(CrawlExtractor.crawl_id.in_(list(crawl_ids))).order_by(CrawlExtractor.place)
    found: dict[str, list[CrawlExtractor]] = {}
    for one in tx.scalars(query.options(undefer(CrawlExtractor.program)) if with_program else query):
        found.setdefault(one.crawl_id, []).append(one)
    return found
