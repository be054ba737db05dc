"""Rows of the catalogues, of scripts and of extractors: ids and their versions."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, undefer

from ledger.store.database import Tx
from ledger.store.models_catalogue import (
    CatalogueEntry,
    CatalogueExtractor,
    CatalogueVersion,
    ExtractorVersion,
    Script,
    ScriptVersion,
)

Entry = TypeVar("Entry", bound=CatalogueEntry)
Version = TypeVar("Version", bound=CatalogueVersion)


class Catalogue(Generic[Entry, Version]):
    """One catalogue. `ident` is the column by which versions name their id; `whole`, those that lists leave out."""

    def __init__(
        self,
        entries: type[Entry],
        versions: type[Version],
        ident: InstrumentedAttribute[str],
        whole: Sequence[InstrumentedAttribute[Any]],
    ) -> None:
        self._entries = entries
        self._versions = versions
        self._ident = ident
        self._whole = [undefer(column) for column in whole]

    def newest(self, tx: Tx, *, whole: bool = False) -> list[tuple[Entry, Version]]:
        """Every id that is not removed, with its newest version, in id order."""
        newest = (self._ident == self._entries.id) & (self._versions.version == self._entries.newest_version)
        query = (
            select(self._entries, self._versions)
            .join(self._versions, newest)
            .where(self._entries.removed.is_(False))
            .order_by(self._entries.id)
        )
        rows = tx.execute(query.options(*self._whole) if whole else query)
        return [(entry, version) for entry, version in rows]

    def entry(self, tx: Tx, ident: str) -> Entry | None:
        """The id's row, removed or not."""
        return tx.get(self._entries, ident)

    def version(self, tx: Tx, ident: str, number: int) -> Version | None:
        """One version, whole, or None."""
        query = select(self._versions).where(self._ident == ident, self._versions.version == number)
        return tx.scalars(query.options(*self._whole)).one_or_none()

    def versions(self, tx: Tx, ident: str) -> Sequence[Version]:
        """Every version of an id, oldest first."""
        return tx.scalars(select(self._versions).where(self._ident == ident).order_by(self._versions.version)).all()

    def add(self, tx: Tx, ident: str, version: Version) -> Entry:
        """`version` gets the next number of an id that may be new as well."""
        entry = self.entry(tx, ident)
        if entry is None:
            entry = self._entries(id=ident, enabled=True, removed=False, newest_version=0)
            tx.add(entry)
        entry.newest_version += 1
        version.version = entry.newest_version
        tx.flush()
        tx.add(version)
        tx.flush()
        return entry

    def set_enabled(self, tx: Tx, entry: Entry, enabled: bool) -> None:
        """Whether crawls may take it."""
        entry.enabled = enabled
        tx.flush()

    def set_removed(self, tx: Tx, entry: Entry, removed: bool) -> None:
        """Whether the catalogue shows it. Its versions stay, so that their numbers are never used twice."""
        entry.removed = removed
        if not removed:
            entry.enabled = True
        tx.flush()

    def describe(self, tx: Tx, version: Version, description: str) -> None:
        """Change the words, which are no part of what a version is."""
        version.description = description
        tx.flush()


SCRIPTS = Catalogue(Script, ScriptVersion, ScriptVersion.script_id, [ScriptVersion.source])
EXTRACTORS = Catalogue(
    CatalogueExtractor,
    ExtractorVersion,
    ExtractorVersion.extractor_id,
    [ExtractorVersion.files, ExtractorVersion.program],
)
