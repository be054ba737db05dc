"""Whether pages can be watched by their settings: asked wherever settings come in, before anything is written."""

from collections.abc import Iterable

from comity.contract.ledger import ErrorField
from comity.contract.watch import ByExtractor, WatchSettings
from comity.extract.page_fields import PageFields, field_names, why_not_these_fields
from comity.watch.errors import BadWatchSettings
from comity.watch.rules.checking import check_watch_settings
from ledger.store.catalogue import EXTRACTORS
from ledger.store.database import Store, Tx

_USUAL = WatchSettings()


class SettingsCheck:
    """The same answer for pages that are added, changed, moved in and previewed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def problems(self, wanted: Iterable[tuple[str, WatchSettings]]) -> list[ErrorField]:
        """The first thing of each settings that cannot work; each comes with the name that its fields are below."""
        found: list[ErrorField] = []
        by_extractor: list[tuple[str, ByExtractor]] = []
        for name, settings in wanted:
            if settings == _USUAL:
                continue
            try:
                check_watch_settings(settings)
            except BadWatchSettings as error:
                found.append(ErrorField(field=f"{name}.{error.field}", message=error.reason))
                continue
            if isinstance(settings.watched, ByExtractor):
                by_extractor.append((f"{name}.watched", settings.watched))
        if by_extractor:
            with self._store.reading() as tx:
                found += _extractor_problems(tx, by_extractor)
        return found

    def fields(self, watched: ByExtractor) -> PageFields:
        """What reads the watched fields out of a page. Raises BadWatchSettings where there is no such extractor."""
        with self._store.reading() as tx:
            program = _program(tx, watched)
        if isinstance(program, ErrorField):
            raise BadWatchSettings(f"watched.{program.field}", program.message)
        return PageFields(program, tuple(watched.fields))


def _extractor_problems(tx: Tx, wanted: Iterable[tuple[str, ByExtractor]]) -> list[ErrorField]:
    """Each version is looked up once, however many pages name it."""
    known: dict[tuple[str, int], tuple[str, ...] | ErrorField] = {}
    found: list[ErrorField] = []
    for name, watched in wanted:
        key = watched.id, watched.version
        if key not in known:
            program = _program(tx, watched)
            known[key] = program if isinstance(program, ErrorField) else field_names(program)
        has = known[key]
        if isinstance(has, ErrorField):
            found.append(ErrorField(field=f"{name}.{has.field}", message=has.message))
        elif wrong := why_not_these_fields(has, watched.fields):
            found.append(ErrorField(field=f"{name}.fields.{wrong[0]}", message=wrong[1]))
    return found


def _program(tx: Tx, watched: ByExtractor) -> str | ErrorField:
    """The program's canonical JSON, or the field of `watched` that names none."""
    entry = EXTRACTORS.entry(tx, watched.id)
    if entry is None or entry.removed:
        return ErrorField(
            field="id", message=f"there is no extractor {watched.id!r}; `comity extractors list` shows them"
        )
    version = EXTRACTORS.version(tx, watched.id, watched.version)
    if version is None:
        numbers = ", ".join(str(one.version) for one in EXTRACTORS.versions(tx, watched.id))
        return ErrorField(field="version", message=f"{watched.id} has no version {watched.version}; it has {numbers}")
    return version.program
