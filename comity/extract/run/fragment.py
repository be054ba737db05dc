"""Inner HTML by the HTML Standard, section 13.3 (fragment serialization), without recursion.

Only for pages where turbohtml's own differs: it doubles the newline that begins a `<pre>`, `<textarea>` or
`<listing>`, as the standard did until 2018.
"""

from turbohtml import CData, Comment, Doctype, DocumentFragment, Element, Namespace, Node, ProcessingInstruction, Text

_VOID = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link",
    "meta", "param", "source", "track", "wbr",
})  # fmt: skip
_RAW = frozenset({"style", "script", "xmp", "iframe", "noembed", "noframes", "plaintext", "noscript"})


def inner_html(element: Element) -> str:
    """What the standard's `innerHTML` gives, with scripting on."""
    written: list[str] = []
    # nodes still to write, last first; a string is an end tag that waits for its children
    waiting: list[Node | str] = [*reversed(list(element))]
    while waiting:
        node = waiting.pop()
        match node:
            case str():
                written.append(node)
            case Element():
                written.append(_start_tag(node))
                if not (node.namespace is Namespace.HTML and node.tag in _VOID):
                    waiting.append(f"</{node.tag}>")
                    waiting.extend(reversed(list(node)))
            case DocumentFragment():  # what a <template> holds
                waiting.extend(reversed(list(node)))
            case Text():
                written.append(node.data if _is_raw(node.parent) else _escaped(node.data))
            case CData():
                written.append(_escaped(node.data))
            case Comment():
                written.append(f"<!--{node.data}-->")
            case ProcessingInstruction():
                written.append(f"<?{node.target} {node.data}>")
            case Doctype():
                written.append(f"<!DOCTYPE {node.name}>")
            case _:
                raise TypeError(f"{type(node).__name__} in a parsed page")
    return "".join(written)


def _start_tag(element: Element) -> str:
    names = element.attrs
    attributes = "".join(f' {name}="{_escaped(element.attr(name) or "").replace(chr(34), "&quot;")}"' for name in names)
    return f"<{element.tag}{attributes}>"


def _is_raw(parent: object) -> bool:
    return isinstance(parent, Element) and parent.namespace is Namespace.HTML and parent.tag in _RAW


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("\xa0", "&nbsp;").replace("<", "&lt;").replace(">", "&gt;")
