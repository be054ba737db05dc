"""The lines of a page: what a reader would read, one line for each block, white space collapsed.

Whole pages go through turbohtml's renderer, which is fast (0.2 ms) and linear, except for what pads or numbers: table
columns are aligned (a page of 60 KB became 1 GB), ordered lists are counted (a new first entry would change each line).
So the elements of tables, lists and forms become plain blocks first. Main content is resiliparse's.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import turbohtml
from resiliparse.extract.html2text import extract_plain_text
from turbohtml import Document, Element, PlainText

from comity.watch.errors import BadWatchSettings
from comity.watch.rules.settings import ContentSettings

MAX_TITLE_CHARACTERS = 500
_STRICT = PlainText(layout="strict", bullet="")
_UNSEEN = frozenset({"svg", "math", "iframe", "video", "audio", "object", "canvas", "textarea", "datalist", "noframes"})
_FLAT = frozenset(
    {
        *("table", "caption", "colgroup", "thead", "tbody", "tfoot", "tr", "td", "th"),
        *("ol", "ul", "menu", "dir", "li", "dl", "dt", "dd", "blockquote"),
        *("form", "fieldset", "legend", "select", "optgroup", "option", "dialog"),
        *("center", "hgroup", "search", "listing", "plaintext", "noscript"),
    }
)
_ADJUSTED = ",".join([*sorted(_FLAT | _UNSEEN), "[hidden]"])
# Controls, and the marks that turn text around: nobody means them, and they make a terminal or a message lie.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Reader(Protocol):
    """Reads an extractor's fields out of a page. Picklable: large pages are read in a process of their own."""

    def fields(self, html: str, url: str) -> Mapping[str, Any]:
        """JSON values by name. Raises ValueError saying why where the page does not give them."""


@dataclass(frozen=True, slots=True)
class PageText:
    """`lines` hold neither blank lines nor line ends. `truncated`: there was more."""

    title: str
    lines: tuple[str, ...]
    truncated: bool = False
    fields: Mapping[str, Any] | None = None


class NothingThere(ValueError):  # noqa: N818  says what is so
    """The part that is watched is not on the page, which is no update but a failure."""


def text_of(html: str, settings: ContentSettings, *, url: str = "", reader: Reader | None = None) -> PageText:
    """The watched part of an HTML page. Raises NothingThere where the page does not have it."""
    fields: Mapping[str, Any] | None = None
    document = turbohtml.parse(html, positions=False, allow_declarative_shadow_roots=False)
    title = _title(document)
    match settings.part:
        case "whole":
            lines = _whole(document)
        case "main":
            lines = extract_plain_text(html, main_content=True, list_bullets=False, alt_texts=False).split("\n")
        case "selector":
            lines = _selected(document, settings.selector)
        case "extractor":
            if reader is None:
                raise NothingThere(f"the extractor {settings.extractor} cannot be run here")
            try:
                fields = reader.fields(html, url)
            except ValueError as error:
                raise NothingThere(f"the extractor {settings.extractor}: {error}") from None
            lines = field_lines(fields)
    kept, truncated = tidied(lines, settings.kept_bytes)
    if not kept:
        raise NothingThere(_MISSING[settings.part].format(settings.selector or settings.extractor))
    return PageText(title, kept, truncated, fields)


_MISSING = {
    "whole": "the page has no text",
    "main": "no main content was found; watch the whole page, or a selector",
    "selector": "nothing matches the selector {!r}, or it is empty",
    "extractor": "the extractor {!r} gave nothing",
}


def plain_text_of(text: str, settings: ContentSettings) -> PageText:
    """A page that is not HTML: its lines as they stand. Raises NothingThere where it has none."""
    lines, truncated = tidied(text.splitlines(), settings.kept_bytes)
    if not lines:
        raise NothingThere("the page is empty")
    return PageText("", lines, truncated)


def field_lines(fields: Mapping[str, Any]) -> list[str]:
    """One line for each value, named by its place: `offers[2].price: 12.5`."""
    lines: list[str] = []
    waiting: list[tuple[str, Any]] = [(str(name), value) for name, value in reversed(list(fields.items()))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping) and value:
            waiting += [(f"{place}.{name}", one) for name, one in reversed(list(value.items()))]
        elif isinstance(value, list | tuple) and value:
            waiting += [(f"{place}[{at}]", one) for at, one in reversed(list(enumerate(value)))]
        else:
            lines.append(f"{place}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return lines


def check_selector(selector: str) -> None:
    """Raises BadWatchSettings for what turbohtml does not take for a CSS selector."""
    try:
        turbohtml.parse("<p>", positions=False).select(selector)
    except ValueError as error:
        raise BadWatchSettings("watched.selector", f"{selector[:100]!r} is no CSS selector: {error}") from None


def tidied(lines: Sequence[str], limit_bytes: int) -> tuple[tuple[str, ...], bool]:
    """White space collapsed, blank lines dropped, and no more than `limit_bytes` as UTF-8: whole lines, and of a first
    line that is longer whatever fits."""
    kept: list[str] = []
    left = limit_bytes
    for line in lines:
        clean = " ".join(line.split())
        if not clean.isprintable():
            clean = _printable(clean)
        if not clean:
            continue
        size = len(clean) if clean.isascii() else len(clean.encode())
        if size > left:
            if not kept:
                kept.append(clean.encode()[:left].decode(errors="ignore"))
            return tuple(kept), True
        left -= size + 1
        kept.append(clean)
    return tuple(kept), False


def _printable(line: str) -> str:
    return " ".join(_UNPRINTABLE.sub("", line).split())


def _title(document: Document) -> str:
    found = document.select_one("title")
    return _printable(" ".join(found.text.split()))[:MAX_TITLE_CHARACTERS] if found is not None else ""


def _whole(document: Document) -> list[str]:
    root = document.root
    return [] if root is None else _rendered(root)


def _selected(document: Document, selector: str) -> list[str]:
    """Outermost matches in document order."""
    try:
        found = document.select(selector)
    except ValueError as error:
        raise NothingThere(f"the selector {selector!r}: {error}") from None
    lines: list[str] = []
    inside: set[Element] = set()
    for element in found:
        if element not in inside:
            inside.update(element.iter_elements())
            lines += _rendered(element)
    return lines


def _rendered(element: Element) -> list[str]:
    for one in element.select(_ADJUSTED):
        if one.tag in _UNSEEN or "hidden" in one.attrs:
            one.decompose()
        else:
            one.tag = "div"
    if element.tag in _FLAT:
        element.tag = "div"
    return element.to_text(_STRICT).split("\n")
