"""One parsed page, read as the language reads pages.

What turbohtml answers as the language does is asked of it directly. The rest is here: the content of `<template>` is
not part of the page (though it is part of inner HTML), selectors that need exact matching, and the newline after
`<pre>`, `<textarea>` and `<listing>`, which the HTML Standard's serializer does not double.
"""

import turbohtml
from turbohtml import CData, Element, Namespace, Text

from comity.extract.run.failures import HaltedError
from comity.extract.run.fragment import inner_html
from comity.extract.run.matching import matching_elements
from comity.extract.run.selectors import Selector

WINDING_FROM_CHARS = 200_000
"""From this size on, winding selectors are matched in linear time; below, turbohtml's worst case is well under 1 s."""


class Page:
    """A page and what only it can answer. `plain` where turbohtml's own answers are right for every member."""

    def __init__(self, html: str) -> None:
        try:
            html.encode()
        except UnicodeEncodeError as error:
            raise HaltedError(
                "E_HTML_DECODE", f"the page has half a surrogate pair at character {error.start}, which is no text"
            ) from None
        try:
            self.root = turbohtml.parse(html, scripting=True, positions=False, allow_declarative_shadow_roots=False)
        except (ValueError, MemoryError, turbohtml.HTMLParseError) as error:
            raise HaltedError("E_HTML_PARSE", f"the page could not be parsed: {error}") from None
        self._is_large = len(html) >= WINDING_FROM_CHARS
        self._exact: dict[str, set[Element]] = {}
        templates = [one for one in self.root.select("template") if _is_template(one)]
        self._hidden = _inside(templates)
        self.plain = not templates
        self._doubles_newlines = any(
            isinstance(first := next(iter(one), None), Text) and first.data.startswith("\n")
            for one in self.root.select("pre, textarea, listing")
        )

    def select(self, scope: "Element | turbohtml.Document", selector: Selector) -> list[Element]:
        """The elements below `scope` that the selector matches, in document order, each once."""
        if selector.css is None or (selector.winding and self._is_large):
            matched = self._exact.get(selector.text)
            if matched is None:
                matched = self._exact[selector.text] = matching_elements(self.root, selector.alternatives)
            found = [one for one in scope.iter_elements() if one in matched]
        else:
            found = scope.select(selector.css)
        return [one for one in found if one not in self._hidden] if self._hidden else found

    def text(self, element: Element) -> str:
        """The text of all descendants, in order and as it stands."""
        if self.plain or element.select_one("template") is None:
            return element.text
        pieces: list[str] = []
        waiting = [*reversed(list(element))]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Text | CData):
                pieces.append(node.data)
            elif isinstance(node, Element) and not _is_template(node):
                waiting.extend(reversed(list(node)))
        return "".join(pieces)

    def html(self, element: Element) -> str:
        """The inner HTML, by the HTML Standard's fragment serialization."""
        return inner_html(element) if self._doubles_newlines else element.inner_html


def _inside(templates: list[Element]) -> frozenset[Element]:
    """Every element inside one of the templates; those in templates inside templates are looked at once."""
    hidden: set[Element] = set()
    for template in templates:
        if template not in hidden:
            hidden.update(template.iter_elements())
    return frozenset(hidden)


def _is_template(element: Element) -> bool:
    return element.tag == "template" and element.namespace is Namespace.HTML
