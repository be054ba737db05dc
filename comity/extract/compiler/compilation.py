"""A program from its source: the phases in their order, and their result as one value."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from comity.extract.compiler.diagnostics import Diagnostic, Findings
from comity.extract.compiler.files import Loader, folder_loader, no_files, read_source
from comity.extract.compiler.graph import Graph, LoadError, SourceDocument
from comity.extract.compiler.members import Members
from comity.extract.compiler.scope import Scope
from comity.extract.compiler.shapes import property_of, text_argument
from comity.extract.compiler.sources import compile_inputs, compile_source
from comity.extract.compiler.transforms import Transforms
from comity.extract.ir.capabilities import capabilities_of
from comity.extract.ir.program import VERSION, Extractor, SourceFile
from comity.extract.kdl.tree import Node

_EXTRACTOR_CHILDREN = frozenset({"source", "input", "transform", "field", "collection"})
DEFAULT_FILE = "extractor.kdl"


@dataclass(frozen=True, slots=True)
class Compilation:
    """What came of compiling.

    `program` is there exactly where nothing is wrong; warnings may stand beside it. `failure` is a sentence on a file
    that could not be read: then there are no diagnostics of the text, because not all of it was seen.
    """

    program: Extractor | None
    diagnostics: tuple[Diagnostic, ...] = ()
    failure: str | None = None


def compile(  # noqa: A001 - the name that the library's users know from `re.compile`
    source: Path | str | bytes, loader: Loader | None = None, *, file: str = DEFAULT_FILE
) -> Compilation:
    """Compiles an extractor in full; nothing is fetched and no code of the host is called.

    `source` is the entry file's path, or its text. `loader` gives imported files by their path relative to the entry
    file's folder; without one, a path's imports are read from the disk and a text has none. `file` is what spans call
    a text. Never raises for what the source or a loaded file may hold.
    """
    if isinstance(source, Path):
        file = source.name
        try:
            data = read_source(source)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            said = (error.strerror if isinstance(error, OSError) else None) or error
            return Compilation(None, failure=f"{source} cannot be read: {said}")
        loader = loader or folder_loader(source.parent)
    else:
        file = PurePosixPath(file).name or DEFAULT_FILE
        data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    findings = Findings()
    graph = Graph(loader or no_files, findings)
    try:
        entry = graph.load(file, data, "extractor")
    except LoadError as error:
        return Compilation(None, failure=str(error))
    if entry is None or findings.has_errors:
        return Compilation(None, findings.in_order())
    program = _compiled(findings, graph, entry)
    return Compilation(None if findings.has_errors else program, findings.in_order())


def _compiled(findings: Findings, graph: Graph, entry: SourceDocument) -> Extractor | None:
    documents = [document for document in graph.documents.values() if document is not None]
    transforms = Transforms(findings, entry)
    for document in documents:
        _check_children(findings, document)
        transforms.declare(document)
    declared = transforms.compile()
    scope = Scope(findings, entry)
    inputs = compile_inputs(scope)
    source = compile_source(scope, inputs)
    output = Members(scope, transforms, _is_browser(entry.root)).output()
    if _has_javascript(entry.root):
        message = "the program runs JavaScript of its own in pages: read it before you trust it"
        findings.warning(entry.source, "W_JAVASCRIPT_PRESENT", message, entry.root, "source")
    if source is None or findings.has_errors:
        return None
    return Extractor(
        kind="extractor",
        ir_version=VERSION,
        language_version=VERSION,
        name=text_argument(entry.root) or "",
        version=str(_version(entry)),
        files=tuple(sorted((_file(document, entry) for document in documents), key=lambda one: one.path)),
        source=source,
        inputs=inputs,
        transforms=declared,
        output=output,
        capabilities=capabilities_of(source, declared, output),
        span=entry.source.locator.span(entry.root.start, entry.root.end),
    )


def _check_children(findings: Findings, document: SourceDocument) -> None:
    root = document.root
    allowed = _EXTRACTOR_CHILDREN if root.name == "extractor" else {"transform"}
    for child in root.children:
        if child.name not in allowed:
            message = f"{child.name} cannot stand in this {root.name}: it has {', '.join(sorted(allowed))}"
            findings.error(document.source, "E_UNKNOWN_NODE", message, child, root.name)


def _is_browser(root: Node) -> bool:
    for source in root.children:
        for fetch in source.children if source.name == "source" else ():
            if fetch.name == "fetch":
                mode = property_of(fetch, "mode")
                return mode is not None and mode.value.scalar == "browser"
    return False


def _has_javascript(node: Node) -> bool:
    return any(child.name == "evaluate-js" or _has_javascript(child) for child in node.children)


def _version(document: SourceDocument) -> object:
    found = property_of(document.root, "version")
    return None if found is None else found.value.scalar


def _file(document: SourceDocument, entry: SourceDocument) -> SourceFile:
    if document is entry:
        return SourceFile(path=document.source.file, sha256=document.source.sha256)
    return SourceFile(
        path=document.source.file,
        module_name=text_argument(document.root),
        module_version=str(_version(document)),
        sha256=document.source.sha256,
    )
