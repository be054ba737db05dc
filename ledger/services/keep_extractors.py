"""The extractor catalogue: programs with all their files, compiled when they come."""

from collections.abc import Sequence

from comity.contract.extraction import (
    MAX_EXTRACTOR_BYTES,
    AddExtractor,
    ChangeExtractor,
    DiagnosticView,
    ExtractorDetail,
    ExtractorList,
    ExtractorView,
    ModuleFile,
    sha256_of_files,
)
from comity.contract.ledger import ErrorField
from comity.extract import Diagnostic, Extractor, canonical_json, compile, plain  # noqa: A004 - as in `re.compile`
from ledger.clock import Clock
from ledger.errors import BadInput, ExtractorWrong, Unknown
from ledger.rules.extractors import why_not_for_crawls
from ledger.store import extractors
from ledger.store.database import Store, Tx
from ledger.store.extractors import NewVersion
from ledger.store.models_extraction import CatalogueExtractor, ExtractorVersion

MAX_NAMED = 20
"""Diagnostics that are also told as fields; all are told as diagnostics."""


class ExtractorService:
    """Adds, lists, enables and removes catalogue extractors."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def every(self) -> ExtractorList:
        """The newest version of each extractor, in id order."""
        with self._store.reading() as tx:
            return ExtractorList(extractors=[_view(one, version) for one, version in extractors.newest(tx)])

    def one(self, extractor_id: str, number: int | None) -> ExtractorDetail:
        """A version with its files; None: the newest. Raises Unknown."""
        with self._store.reading() as tx:
            extractor = self._entry(tx, extractor_id)
            version = extractors.version(tx, extractor_id, number or extractor.newest_version)
            if version is None:
                raise Unknown("version of the extractor", f"{extractor_id} {number}")
            entry, *modules = version.files
            return ExtractorDetail(
                **dict(_view(extractor, version)),
                file=entry["path"],
                source=entry["source"],
                modules=[ModuleFile.model_validate(module) for module in modules],
                versions=extractors.numbers(tx, extractor_id),
            )

    def add(self, order: AddExtractor) -> tuple[ExtractorView, bool]:
        """A new version of the id, or the newest one where the files are the same. True where it is new.

        Adding a removed id brings it back. Raises ExtractorWrong with the compiler's diagnostics; BadInput for files
        that nobody imports or that are missing, and for programs that crawls cannot run.
        """
        new = _compiled(order)
        with self._store.writing() as tx:
            extractor, version, added = self._put(tx, order.id, new)
            if extractor.removed:
                extractors.set_removed(tx, extractor, False)
            return _view(extractor, version), added

    def change(self, extractor_id: str, order: ChangeExtractor) -> ExtractorView:
        """Enable or disable. Raises Unknown."""
        with self._store.writing() as tx:
            extractor = self._entry(tx, extractor_id)
            extractors.set_enabled(tx, extractor, order.enabled)
            version = extractors.version(tx, extractor_id, extractor.newest_version)
            assert version is not None
            return _view(extractor, version)

    def remove(self, extractor_id: str) -> None:
        """Take it out of the catalogue; crawls that pinned it keep it. Raises Unknown."""
        with self._store.writing() as tx:
            extractors.set_removed(tx, self._entry(tx, extractor_id), True)

    def _entry(self, tx: Tx, extractor_id: str) -> CatalogueExtractor:
        extractor = extractors.entry(tx, extractor_id)
        if extractor is None or extractor.removed:
            raise Unknown("extractor", extractor_id)
        return extractor

    def _put(self, tx: Tx, extractor_id: str, new: NewVersion) -> tuple[CatalogueExtractor, ExtractorVersion, bool]:
        extractor = extractors.entry(tx, extractor_id)
        if extractor is not None:
            newest = extractors.version(tx, extractor_id, extractor.newest_version)
            if newest is not None and newest.sha256 == new.sha256:
                extractors.describe(tx, newest, new.description or newest.description)
                return extractor, newest, False
        extractor, version = extractors.add_version(tx, extractor_id, new, at=self._clock())
        return extractor, version, True


def _compiled(order: AddExtractor) -> NewVersion:
    files = [(order.file, order.source), *((module.path, module.source) for module in order.modules)]
    _check_files(files)
    program = _program(order)
    reasons = list(why_not_for_crawls(program))
    if reasons:
        raise BadInput([ErrorField(field="source", message=reason) for reason in reasons])
    return NewVersion(
        name=program.name,
        files=files,
        program=canonical_json(plain(program)),
        sha256=sha256_of_files(files),
        description=order.description,
    )


def _check_files(files: Sequence[tuple[str, str]]) -> None:
    size_bytes = sum(len(source.encode()) for _, source in files)
    if size_bytes > MAX_EXTRACTOR_BYTES:
        raise BadInput.at("source", f"has {size_bytes} bytes with its modules; {MAX_EXTRACTOR_BYTES} are allowed")
    seen = {files[0][0]}
    for place, (path, _) in enumerate(files[1:]):
        if path in seen:
            raise BadInput.at(f"modules.{place}.path", f"{path} is there twice; each file once")
        seen.add(path)


def _program(order: AddExtractor) -> Extractor:
    """The checked program. No file is read and nothing is fetched: imports come out of the order."""
    sources = {module.path: module.source.encode() for module in order.modules}
    asked: set[str] = set()

    def load(path: str) -> bytes:
        asked.add(path)
        if path not in sources:
            raise FileNotFoundError(f"{path} was not sent along; add it to modules")
        return sources[path]

    compilation = compile(order.source, load, file=order.file)
    if compilation.failure is not None:
        raise BadInput.at("modules", compilation.failure)
    if compilation.program is None:
        raise _wrong(order, compilation.diagnostics)
    for place, module in enumerate(order.modules):
        if module.path not in asked:
            raise BadInput.at(f"modules.{place}.path", f"no file imports {module.path}; leave it out")
    return compilation.program


def _wrong(order: AddExtractor, found: Sequence[Diagnostic]) -> ExtractorWrong:
    places = {module.path: f"modules.{place}.source" for place, module in enumerate(order.modules)}
    errors = [one for one in found if one.severity == "error"]
    fields = [
        ErrorField(
            field=places.get(one.span.file, "source"),
            message=f"{one.span.file}:{one.span.start.line}:{one.span.start.column}: {one.code} {one.message}",
        )
        for one in errors[:MAX_NAMED]
    ]
    named = "1 mistake" if len(errors) == 1 else f"{len(errors)} mistakes"
    views = [DiagnosticView.model_validate(plain(one)) for one in found]
    return ExtractorWrong(fields, views, f"{order.id} has {named}; the first: {fields[0].message}")


def _view(extractor: CatalogueExtractor, version: ExtractorVersion) -> ExtractorView:
    return ExtractorView(
        id=extractor.id,
        version=version.version,
        name=version.name,
        sha256=version.sha256,
        description=version.description,
        enabled=extractor.enabled,
        added_at=version.added_at,
    )
