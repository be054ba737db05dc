"""The extractor catalogue: programs with all their files, compiled when they come."""

from collections.abc import Sequence

from comity.contract.extraction import (
    MAX_EXTRACTOR_BYTES,
    AddExtractor,
    DiagnosticView,
    ExtractorDetail,
    ExtractorList,
    ExtractorView,
    ModuleFile,
    sha256_of_files,
)
from comity.contract.ledger import ErrorField
from comity.extract import Diagnostic, Extractor, canonical_json, compile, plain  # noqa: A004 - as in `re.compile`
from ledger.errors import BadInput, ExtractorWrong
from ledger.rules.extractors import why_not_for_crawls
from ledger.services.keep_catalogue import CatalogueService
from ledger.store.catalogue import EXTRACTORS
from ledger.store.models_catalogue import CatalogueExtractor, ExtractorVersion

MAX_NAMED = 20
"""Diagnostics that are also told as fields; all are told as diagnostics."""


class ExtractorService(CatalogueService[CatalogueExtractor, ExtractorVersion, ExtractorView, ExtractorDetail]):
    """Adds, lists, enables and removes catalogue extractors."""

    noun = "extractor"
    rows = EXTRACTORS

    def every(self) -> ExtractorList:
        """The newest version of each extractor, in id order."""
        return ExtractorList(extractors=list(self._every()))

    def add(self, order: AddExtractor) -> tuple[ExtractorView, bool]:
        """A new version of the id, or the newest one where the files are the same. True where it is new.

        Adding a removed id brings it back. Raises ExtractorWrong with the compiler's diagnostics; BadInput for files
        that nobody imports or that are missing, and for programs that crawls cannot run.
        """
        return self._add(order.id, _compiled(order))

    def view(self, entry: CatalogueExtractor, version: ExtractorVersion) -> ExtractorView:
        """Without its files."""
        return ExtractorView(
            id=entry.id,
            version=version.version,
            name=version.name,
            sha256=version.sha256,
            description=version.description,
            enabled=entry.enabled,
            added_at=version.added_at,
        )

    def detail(self, entry: CatalogueExtractor, version: ExtractorVersion, versions: list[int]) -> ExtractorDetail:
        """With its files."""
        first, *modules = version.files
        return ExtractorDetail(
            **dict(self.view(entry, version)),
            file=first["path"],
            source=first["source"],
            modules=[ModuleFile.model_validate(module) for module in modules],
            versions=versions,
        )

    def identity(self, version: ExtractorVersion) -> object:
        """Its files."""
        return version.sha256


def _compiled(order: AddExtractor) -> ExtractorVersion:
    files = [(order.file, order.source), *((module.path, module.source) for module in order.modules)]
    _check_files(files)
    program = _program(order)
    reasons = list(why_not_for_crawls(program))
    if reasons:
        raise BadInput([ErrorField(field="source", message=reason) for reason in reasons])
    return ExtractorVersion(
        extractor_id=order.id,
        name=program.name,
        files=[{"path": path, "source": source} for path, source in files],
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
