"""One file while it is compiled: its nodes' spans, what is wrong with them, and readings that several nodes share."""

from dataclasses import dataclass
from typing import cast

from comity.extract.compiler.diagnostics import Findings
from comity.extract.compiler.graph import SourceDocument
from comity.extract.compiler.shapes import Shape, check_shape, is_kind, property_of, text_argument
from comity.extract.ir.program import MAX_TIMEOUT_MS
from comity.extract.ir.spans import Span
from comity.extract.kdl.tree import Node, Property, Value
from comity.extract.profile.selectors import SelectorError, parse_selector


@dataclass(frozen=True, slots=True)
class Scope:
    """Every reading tells what is wrong and gives something to go on with."""

    findings: Findings
    document: SourceDocument

    def error(self, code: str, message: str, at: Node | Property | Value, path: str) -> None:
        self.findings.error(self.document.source, code, message, at, path)

    def check(self, node: Node, shape: Shape, path: str) -> None:
        check_shape(self.findings, self.document.source, node, shape, path)

    def span(self, node: Node) -> Span:
        return self.document.source.locator.span(node.start, node.end)

    def one_child(self, node: Node, name: str, path: str) -> Node | None:
        """The first child of a name; the others are told of."""
        found = [child for child in node.children if child.name == name]
        for extra in found[1:]:
            self.error("E_ARGUMENT_COUNT", f"{node.name} has one {name}: remove this one", extra, path)
        return found[0] if found else None

    def choice(self, node: Node, name: str, choices: tuple[str, ...], path: str) -> str | None:
        """A property's word out of a few; None, told of, where it is another one, and where it is missing."""
        found = property_of(node, name)
        if found is None or not isinstance(found.value.scalar, str):
            return None
        if found.value.scalar not in choices:
            message = f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}"
            self.error("E_TYPE_MISMATCH", message, found, path)
            return None
        return found.value.scalar

    def milliseconds(self, node: Node, name: str, path: str) -> int | None:
        found = property_of(node, name)
        if found is None or not is_kind(found.value.scalar, "int"):
            return None
        written = cast("int", found.value.scalar)
        if not 1 <= written <= MAX_TIMEOUT_MS:
            self.error("E_TYPE_MISMATCH", f"{name} must be from 1 to {MAX_TIMEOUT_MS}", node, path)
            return None
        return written

    def text(self, node: Node, index: int, meaning: str, path: str) -> str:
        """An argument's string; empty, told of, where it is something else."""
        text = text_argument(node, index)
        if text is None and index < len(node.arguments):
            self.error("E_TYPE_MISMATCH", f"{meaning} must be a string", node.arguments[index], path)
        return text or ""

    def selector(self, node: Node, path: str) -> str:
        """The node's first argument as a selector; what is wrong with it is told."""
        selector = text_argument(node)
        if selector is None:
            if node.arguments:
                self.error("E_SELECTOR_INVALID", f"{node.name} takes a selector in quotes", node, path)
            return ""
        try:
            parse_selector(selector)
        except SelectorError as error:
            self.error(error.code, str(error), node, path)
        return selector
