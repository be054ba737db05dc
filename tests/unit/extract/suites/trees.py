"""The html5lib tree-construction tests (https://github.com/html5lib/html5lib-tests) and trees in their notation."""

from collections.abc import Iterator
from dataclasses import dataclass

from turbohtml import (
    CData,
    Comment,
    Doctype,
    Document,
    DocumentFragment,
    Element,
    Namespace,
    Node,
    ProcessingInstruction,
    Text,
)

_PREFIXES = {Namespace.HTML: "", Namespace.SVG: "svg ", Namespace.MATHML: "math "}
_XLINK = ("xlink:", "xml:", "xmlns:")


@dataclass(frozen=True, slots=True)
class TreeCase:
    """One test. `scripting`: None where it holds with and without. `fragment_of`: the context element, if any."""

    name: str
    html: str
    tree: str
    scripting: bool | None
    fragment_of: str | None


def cases_of(file: str, text: str) -> Iterator[TreeCase]:
    """The tests of one .dat file, numbered from 0."""
    for number, block in enumerate(_blocks(text)):
        sections: dict[str, list[str]] = {}
        current: list[str] = []
        for line in block:
            if line.startswith("#") and line[1:] in _SECTIONS:
                current = sections.setdefault(line[1:], [])
            else:
                current.append(line)
        yield TreeCase(
            name=f"{file}:{number}",
            html="\n".join(sections["data"]),
            tree="\n".join(sections["document"]).rstrip("\n"),
            scripting=True if "script-on" in sections else False if "script-off" in sections else None,
            fragment_of=sections["document-fragment"][0] if "document-fragment" in sections else None,
        )


_SECTIONS = frozenset({"data", "errors", "new-errors", "document-fragment", "script-off", "script-on", "document"})


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] = []
    for line in text.split("\n"):
        if line == "#data" and block:
            while block and block[-1] == "":
                block.pop()
            yield block
            block = []
        block.append(line)
    if block and block[0] == "#data":
        while block[-1] == "":
            block.pop()
        yield block


def tree_of(document: Document) -> str:
    """The parsed page in the tests' notation."""
    lines: list[str] = []
    waiting: list[tuple[Node, int]] = [(child, 0) for child in reversed(list(document))]
    while waiting:
        node, depth = waiting.pop()
        indent = "| " + "  " * depth
        match node:
            case Element():
                lines.append(f"{indent}<{_PREFIXES[node.namespace]}{node.tag}>")
                lines += [f'{indent}  {name}="{value}"' for name, value in _attributes(node)]
            case DocumentFragment():
                lines.append(f"{indent}content")
            case Text() | CData():
                lines.append(f'{indent}"{node.data}"')
            case Comment():
                lines.append(f"{indent}<!-- {node.data} -->")
            case Doctype():
                lines.append(f"{indent}<!DOCTYPE {_doctype(node)}>")
            case ProcessingInstruction():
                lines.append(f"{indent}<?{node.target} {node.data}>")
        if isinstance(node, Element | DocumentFragment):
            waiting += [(child, depth + 1) for child in reversed(list(node))]
    return "\n".join(lines)


def _attributes(element: Element) -> list[tuple[str, str]]:
    """Sorted by name. Foreign elements show the prefixes that the standard adjusts as a word of their own."""
    pairs = []
    for name in element.attrs:
        shown = name
        if element.namespace is not Namespace.HTML and name.startswith(_XLINK):
            shown = name.replace(":", " ", 1)
        pairs.append((shown, element.attr(name) or ""))
    return sorted(pairs)


def _doctype(node: Doctype) -> str:
    public, system = node.public_id, node.system_id
    if not public and not system:
        return node.name
    return f'{node.name} "{public or ""}" "{system or ""}"'
