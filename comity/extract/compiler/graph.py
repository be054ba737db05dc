"""The entry file and every file that its imports lead to: roots, versions, imports, before anything is compiled."""

import hashlib
import posixpath
import re
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from comity.extract.compiler.diagnostics import Findings
from comity.extract.compiler.files import MAX_FILE_BYTES, Loader, SourceText
from comity.extract.compiler.shapes import check_duplicates, property_of, text_argument
from comity.extract.ir.program import VERSION
from comity.extract.kdl.parser import parse
from comity.extract.kdl.tree import Document, Locator, Node

MAX_FILES = 256
"""Files of one program, imports of imports included."""
MAX_IMPORT_DEPTH = 32
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PROGRAM_NAME = re.compile(r"[a-z][a-z0-9-]*")
MEMBER_NAME = re.compile(r"[a-z][a-z0-9_]*")
RootKind = Literal["extractor", "module"]


class LoadError(Exception):
    """A file could not be read. Never leaves this room: it becomes the compilation's failure."""


@dataclass(slots=True)
class SourceDocument:
    """A file with its root; `imports` by alias, those that could be loaded."""

    source: SourceText
    root: Node
    aliases: set[str] = field(default_factory=set)
    imports: dict[str, "SourceDocument"] = field(default_factory=dict)


@dataclass(slots=True)
class Graph:
    """Loads an entry file and its imports, depth first. What is wrong goes to `findings`."""

    loader: Loader
    findings: Findings
    documents: dict[str, SourceDocument | None] = field(default_factory=dict)
    _loading: list[str] = field(default_factory=list)
    _read: int = 0

    def load(self, file: str, data: bytes, expected: RootKind) -> SourceDocument | None:
        """The document in `data`; None where it cannot be used. Raises LoadError where an import cannot be read."""
        self._read += 1
        if self._read > MAX_FILES:
            raise LoadError(f"the imports lead to more than {MAX_FILES} files")
        if len(data) > MAX_FILE_BYTES:
            raise LoadError(f"{file} is larger than {MAX_FILE_BYTES} bytes: divide it into modules")
        if len(self._loading) > MAX_IMPORT_DEPTH:
            raise LoadError(f"imports lead to imports more than {MAX_IMPORT_DEPTH} files deep")
        self._loading.append(file)
        document = self._document(file, data, self._read - 1, expected)
        self._loading.pop()
        self.documents[file] = document
        return document

    def _document(self, file: str, data: bytes, position: int, expected: RootKind) -> SourceDocument | None:
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            source = SourceText(file, position, Locator(file, ""), sha256)
            message = f"the file is not UTF-8 (byte {error.start}): save it as UTF-8"
            self.findings.error_at(source, "E_KDL_SYNTAX", message, (0, 0))
            return None
        source = SourceText(file, position, Locator(file, text), sha256)
        parsed = parse(text)
        for mistake in parsed.mistakes:
            self.findings.error_at(source, mistake.code, mistake.message, (mistake.start, mistake.end))
        if parsed.mistakes:
            return None
        root = self._root(source, parsed, expected)
        if root is None:
            return None
        document = SourceDocument(source, root)
        self._check_root(source, root)
        for node in parsed.nodes:
            if node.name == "import" and node.start < root.start:
                self._import(document, node)
        return document

    def _root(self, source: SourceText, parsed: Document, expected: RootKind) -> Node | None:
        root: Node | None = None
        for node in parsed.nodes:
            if node.name in {"extractor", "module"} and root is None:
                root = node
            elif node.name == "import" and root is None:
                continue
            elif node.name == "import":
                self.findings.error(source, "E_DOCUMENT_ROOT", "imports come before the root: move it up", node)
            elif node.name in {"extractor", "module"}:
                message = f"a file has one extractor or one module: move {node.name} to a file of its own"
                self.findings.error(source, "E_DOCUMENT_ROOT", message, node)
            else:
                message = f"{node.name} cannot stand here: a file is imports, then one extractor or module"
                self.findings.error(source, "E_DOCUMENT_ROOT", message, node)
        if root is None:
            if not parsed.nodes or all(node.name == "import" for node in parsed.nodes):
                message = (
                    f'the file has no root: write {expected} "name" version="…" language-version="{VERSION}" {{ … }}'
                )
                self.findings.error_at(source, "E_DOCUMENT_ROOT", message, (0, 0))
            return None
        if root.name != expected:
            if expected == "module":
                message = "only a module can be imported: this file is an extractor"
                self.findings.error(source, "E_IMPORT_KIND", message, root)
            else:
                message = "a module cannot be run: give an extractor, and import the module there"
                self.findings.error(source, "E_DOCUMENT_ROOT", message, root)
            return None
        return root

    def _check_root(self, source: SourceText, root: Node) -> None:
        add = self.findings.error
        if len(root.arguments) != 1:
            add(source, "E_ARGUMENT_COUNT", f"{root.name} takes one argument, its name", root, root.name)
        name = text_argument(root)
        if root.arguments and (name is None or not _PROGRAM_NAME.fullmatch(name)):
            message = f"the name of the {root.name} has lower-case letters, digits and -, and begins with a letter"
            add(source, "E_IDENTIFIER_INVALID", message, root.arguments[0], root.name)
        check_duplicates(self.findings, source, root, root.name)
        for one in root.properties:
            if one.name not in {"version", "language-version"}:
                message = f"{root.name} has no property {one.name}: it has version, language-version"
                add(source, "E_UNKNOWN_PROPERTY", message, one, root.name)
        for label, code in (("version", "E_DOCUMENT_VERSION"), ("language-version", "E_LANGUAGE_VERSION")):
            path = f"{root.name}.{label}"
            found = property_of(root, label)
            if found is None:
                add(source, f"{code}_REQUIRED", f'{root.name} needs {label}="YYYY-MM-DD"', root, path)
            elif not is_date(found.value.scalar):
                add(source, f"{code}_INVALID", f"{label} must be a date, as YYYY-MM-DD", found.value, path)
            elif label == "language-version" and found.value.scalar != VERSION:
                message = f'there is no language-version {found.value.scalar}: write "{VERSION}"'
                add(source, f"{code}_UNSUPPORTED", message, found.value, path)

    def _import(self, document: SourceDocument, node: Node) -> None:
        target = self._import_target(document, node)
        if target is None:
            return
        alias, file = target
        if file in self._loading:
            source = SourceText(file, self._read, Locator(file, ""), "")
            message = f"{file} imports itself, by way of other files: move what is shared to a module without imports"
            self.findings.error_at(source, "E_IMPORT_CYCLE", message, (0, 0))
            return
        if file not in self.documents:
            try:
                data = self.loader(file)
            except (OSError, ValueError) as error:  # ValueError: a NUL in the path
                said = (error.strerror if isinstance(error, OSError) else None) or error
                raise LoadError(f"{document.source.file} imports {file}: {said}") from None
            self.load(file, data, "module")
        imported = self.documents[file]
        if imported is not None:
            document.imports[alias] = imported

    def _import_target(self, document: SourceDocument, node: Node) -> tuple[str, str] | None:
        """The alias and the file that an import names; None where it names none."""

        def refuse(code: str, message: str) -> None:
            self.findings.error(document.source, code, message, node, "imports")

        check_duplicates(self.findings, document.source, node, "imports")
        for one in node.properties:
            if one.name != "as":
                message = f"import has no property {one.name}: it has as"
                self.findings.error(document.source, "E_UNKNOWN_PROPERTY", message, one, "imports")
        for child in node.children:
            self.findings.error(document.source, "E_UNKNOWN_NODE", "import has no children", child, "imports")
        path = text_argument(node)
        if len(node.arguments) != 1 or not path:
            refuse("E_ARGUMENT_COUNT", 'import takes one argument, a path: import "./shared.kdl" as="shared"')
            return None
        found = property_of(node, "as")
        alias = found.value.scalar if found is not None else None
        if not isinstance(alias, str) or not alias:
            refuse("E_IMPORT_ALIAS_REQUIRED", f'an import needs a name to be used by: import "{path}" as="shared"')
        elif not MEMBER_NAME.fullmatch(alias):
            refuse("E_IDENTIFIER_INVALID", "an alias has lower-case letters, digits and _, and begins with a letter")
        elif alias in document.aliases:
            refuse("E_DUPLICATE_SYMBOL", f"two imports are called {alias}: give one of them another alias")
        elif re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]", path):
            refuse(
                "E_REMOTE_IMPORT_UNSUPPORTED", "imports are files by relative path: copy the module next to this file"
            )
        else:
            document.aliases.add(alias)
            return alias, posixpath.normpath(posixpath.join(posixpath.dirname(document.source.file), path))
        return None


def is_date(value: object) -> bool:
    """Whether a value is a real day, written YYYY-MM-DD."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True
