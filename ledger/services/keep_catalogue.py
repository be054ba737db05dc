"""What keeping scripts and keeping extractors have in common: ids with versions that are never changed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from ledger.clock import Clock
from ledger.errors import Unknown
from ledger.store.catalogue import Catalogue
from ledger.store.database import Store, Tx
from ledger.store.models_catalogue import CatalogueEntry, CatalogueVersion

Entry = TypeVar("Entry", bound=CatalogueEntry)
Version = TypeVar("Version", bound=CatalogueVersion)
View = TypeVar("View")
Detail = TypeVar("Detail")


class CatalogueService(ABC, Generic[Entry, Version, View, Detail]):
    """Adds, lists, enables and removes what a catalogue holds. A kind says how it is shown, and what a version is."""

    noun: str
    rows: Catalogue[Entry, Version]

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @abstractmethod
    def view(self, entry: Entry, version: Version) -> View:
        """As lists show it."""

    @abstractmethod
    def detail(self, entry: Entry, version: Version, versions: list[int]) -> Detail:
        """The version whole, beside the numbers of all that there are."""

    @abstractmethod
    def identity(self, version: Version) -> object:
        """What makes two versions the same one."""

    def one(self, ident: str, number: int | None) -> Detail:
        """A version, whole; None: the newest. Raises Unknown."""
        with self._store.reading() as tx:
            entry = self._entry(tx, ident)
            version = self.rows.version(tx, ident, number or entry.newest_version)
            if version is None:
                raise Unknown(f"version of the {self.noun}", f"{ident} {number}")
            return self.detail(entry, version, [each.version for each in self.rows.versions(tx, ident)])

    def change(self, ident: str, *, enabled: bool) -> View:
        """Enable or disable. Raises Unknown."""
        with self._store.writing() as tx:
            entry = self._entry(tx, ident)
            self.rows.set_enabled(tx, entry, enabled)
            version = self.rows.version(tx, ident, entry.newest_version)
            assert version is not None
            return self.view(entry, version)

    def remove(self, ident: str) -> None:
        """Take it out of the catalogue; crawls that pinned it keep it. Raises Unknown."""
        with self._store.writing() as tx:
            self.rows.set_removed(tx, self._entry(tx, ident), True)

    def _every(self) -> Sequence[View]:
        """The newest version of each id, in id order."""
        with self._store.reading() as tx:
            return [self.view(entry, version) for entry, version in self.rows.newest(tx)]

    def _add(self, ident: str, version: Version) -> tuple[View, bool]:
        """The version, or the newest one where that is the same, and whether it is new. Brings a removed id back."""
        with self._store.writing() as tx:
            entry, kept, added = self._put(tx, ident, version)
            if entry.removed:
                self.rows.set_removed(tx, entry, False)
            return self.view(entry, kept), added

    def _put(self, tx: Tx, ident: str, version: Version) -> tuple[Entry, Version, bool]:
        entry = self.rows.entry(tx, ident)
        if entry is not None:
            newest = self.rows.version(tx, ident, entry.newest_version)
            if newest is not None and self.identity(newest) == self.identity(version):
                self.rows.describe(tx, newest, version.description or newest.description)
                return entry, newest, False
        version.added_at = self._clock()
        return self.rows.add(tx, ident, version), version, True

    def _entry(self, tx: Tx, ident: str) -> Entry:
        entry = self.rows.entry(tx, ident)
        if entry is None or entry.removed:
            raise Unknown(self.noun, ident)
        return entry
