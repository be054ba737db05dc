"""Rows of the extractor catalogue, and of the extractors that crawls pinned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import undefer

from ledger.store.database import Tx
from ledger.store.models_extraction import CatalogueExtractor, CrawlExtractor, ExtractorVersion


@dataclass(frozen=True)
class NewVersion:
    """What a version is: its files as (path, source), the entry first, and the program that they compile to."""

    name: str
    files: Sequence[tuple[str, str]]
    program: str
    sha256: str
    description: str


def newest(tx: Tx) -> Sequence[tuple[CatalogueExtractor, ExtractorVersion]]:
    """Every catalogue id with its newest version, in id order, without files."""
    query = (
        select(CatalogueExtractor, ExtractorVersion)
        .join(
            ExtractorVersion,
            (ExtractorVersion.extractor_id == CatalogueExtractor.id)
            & (ExtractorVersion.version == CatalogueExtractor.newest_version),
        )
        .where(CatalogueExtractor.removed.is_(False))
        .order_by(CatalogueExtractor.id)
    )
    return [(extractor, version) for extractor, version in tx.execute(query)]


def entry(tx: Tx, extractor_id: str) -> CatalogueExtractor | None:
    """The id's row, removed or not."""
    return tx.get(CatalogueExtractor, extractor_id)


def version(tx: Tx, extractor_id: str, number: int) -> ExtractorVersion | None:
    """One version with its files and its program, or None."""
    query = select(ExtractorVersion).where(
        ExtractorVersion.extractor_id == extractor_id, ExtractorVersion.version == number
    )
    whole = query.options(undefer(ExtractorVersion.files), undefer(ExtractorVersion.program))
    return tx.scalars(whole).one_or_none()


def numbers(tx: Tx, extractor_id: str) -> list[int]:
    """The numbers of an id's versions, oldest first."""
    query = select(ExtractorVersion.version).where(ExtractorVersion.extractor_id == extractor_id)
    return list(tx.scalars(query.order_by(ExtractorVersion.version)))


def add_version(
    tx: Tx, extractor_id: str, new: NewVersion, *, at: datetime
) -> tuple[CatalogueExtractor, ExtractorVersion]:
    """A new version of an id that may be new as well."""
    extractor = tx.get(CatalogueExtractor, extractor_id)
    if extractor is None:
        extractor = CatalogueExtractor(id=extractor_id, enabled=True, removed=False, newest_version=0)
        tx.add(extractor)
    extractor.newest_version += 1
    added = ExtractorVersion(
        extractor_id=extractor_id,
        version=extractor.newest_version,
        name=new.name,
        files=[{"path": path, "source": source} for path, source in new.files],
        program=new.program,
        sha256=new.sha256,
        description=new.description,
        added_at=at,
    )
    tx.flush()
    tx.add(added)
    tx.flush()
    return extractor, added


def set_enabled(tx: Tx, extractor: CatalogueExtractor, enabled: bool) -> None:
    """Whether new crawls may pin it."""
    extractor.enabled = enabled
    tx.flush()


def set_removed(tx: Tx, extractor: CatalogueExtractor, removed: bool) -> None:
    """Whether the catalogue shows it. Its versions stay, so that their numbers are never used twice."""
    extractor.removed = removed
    if not removed:
        extractor.enabled = True
    tx.flush()


def describe(tx: Tx, version_row: ExtractorVersion, description: str) -> None:
    """Change the words, which are no part of what a version is."""
    version_row.description = description
    tx.flush()


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
