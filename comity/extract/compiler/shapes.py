"""Which arguments and properties a node may have: checks that need nothing but the node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from comity.extract.compiler.diagnostics import Findings
from comity.extract.compiler.files import SourceText
from comity.extract.ir.scalars import Scalar
from comity.extract.kdl.tree import Node, Property

PropertyKind = Literal["string", "bool", "int", "count", "number", "scalar"]
_WORDS: dict[PropertyKind, str] = {
    "string": "a string",
    "bool": "#true or #false",
    "int": "an integer",
    "count": "an integer from 0 up",
    "number": "a number",
    "scalar": "a string, a number, #true, #false or #null",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """`arguments` is the least and the most; properties by name; whether children may be there."""

    arguments: tuple[int, int | None] = (0, 0)
    properties: Mapping[str, PropertyKind] = field(default_factory=dict)
    children: bool = False


def is_kind(value: Scalar, kind: PropertyKind) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "count":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "scalar":
            return True


def check_shape(findings: Findings, source: SourceText, node: Node, shape: Shape, path: str) -> None:
    """Says what of a node is too much, too little or of the wrong kind."""
    least, most = shape.arguments
    given = len(node.arguments)
    if given < least or (most is not None and given > most):
        wanted = f"{least}" if most == least else f"{least} to {most}" if most is not None else f"{least} or more"
        plural = "" if wanted == "1" else "s"
        findings.error(
            source, "E_ARGUMENT_COUNT", f"{node.name} takes {wanted} argument{plural}, not {given}", node, path
        )
    check_duplicates(findings, source, node, path)
    for one in node.properties:
        kind = shape.properties.get(one.name)
        if kind is None:
            known = ", ".join(shape.properties) or "none"
            findings.error(
                source, "E_UNKNOWN_PROPERTY", f"{node.name} has no property {one.name}: it has {known}", one, path
            )
        elif not is_kind(one.value.scalar, kind):
            findings.error(source, "E_TYPE_MISMATCH", f"{one.name} must be {_WORDS[kind]}", one, path)
    if not shape.children:
        for child in node.children:
            findings.error(source, "E_UNKNOWN_NODE", f"{node.name} has no children: remove {child.name}", child, path)


def check_duplicates(findings: Findings, source: SourceText, node: Node, path: str) -> None:
    seen: set[str] = set()
    for one in node.properties:
        if one.name in seen:
            message = f"{node.name} has {one.name} twice: keep one of them"
            findings.error(source, "E_DUPLICATE_PROPERTY", message, one, path)
        seen.add(one.name)


def property_of(node: Node, name: str) -> Property | None:
    return next((one for one in node.properties if one.name == name), None)


def text_property(node: Node, name: str) -> str | None:
    """The property's string; None where it is missing or something else (which the shape check tells)."""
    found = property_of(node, name)
    return found.value.scalar if found is not None and isinstance(found.value.scalar, str) else None


def bool_property(node: Node, name: str, otherwise: bool) -> bool:
    found = property_of(node, name)
    return found.value.scalar if found is not None and isinstance(found.value.scalar, bool) else otherwise


def count_property(node: Node, name: str) -> int | None:
    found = property_of(node, name)
    if found is None or not is_kind(found.value.scalar, "count"):
        return None
    assert isinstance(found.value.scalar, int)
    return found.value.scalar


def text_argument(node: Node, index: int = 0) -> str | None:
    """The argument's string; None where it is missing or something else."""
    if index >= len(node.arguments):
        return None
    scalar = node.arguments[index].scalar
    return scalar if isinstance(scalar, str) else None
