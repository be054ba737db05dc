"""An answer's bytes as the lines that are watched: decoded, and read as what they are."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from comity.watch.rules.decoding import Decoded, decode
from comity.watch.rules.settings import ContentSettings
from comity.watch.rules.text import NothingThere, PageText, Reader, plain_text_of, text_of

Kind = Literal["html", "text", "binary"]
_SNIFFED_BYTES = 1024
_HTML = ("text/html", "application/xhtml+xml")
_TEXT_ENDINGS = ("json", "xml", "javascript", "yaml", "csv")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a site sent. `url` is where it came from. Picklable."""

    body: bytes
    content_type: str | None
    url: str


@dataclass(frozen=True, slots=True)
class PageRead:
    """What was made of it. `encoding` is None of what is no text; `replaced` counts what could not be decoded."""

    kind: Kind
    title: str
    lines: tuple[str, ...]
    truncated: bool
    encoding: str | None = None
    replaced: int = 0
    fields: Mapping[str, Any] | None = None


def decoded(answer: Answer) -> tuple[Kind, Decoded | None]:
    """The first half: what it is, and its text unless it is binary."""
    kind = kind_of(answer)
    return kind, None if kind == "binary" else decode(answer.body, answer.content_type)


def read(
    answer: Answer, kind: Kind, text: Decoded | None, settings: ContentSettings, reader: Reader | None = None
) -> PageRead:
    """The second half. Raises NothingThere where what is watched is not there."""
    if text is None:
        if settings.part not in ("whole", "main"):
            raise NothingThere(f"this is {_media(answer) or 'binary'} and no page of text")
        return PageRead("binary", "", (_named_by_hash(answer),), False)
    if kind == "html":
        found = text_of(text.text, settings, url=answer.url, reader=reader)
    elif settings.part in ("whole", "main"):
        found = plain_text_of(text.text, settings)
    else:
        raise NothingThere(f"this is {_media(answer) or 'plain text'} and no HTML, which {settings.part} needs")
    return _page_read(kind, found, text)


def _page_read(kind: Kind, found: PageText, text: Decoded) -> PageRead:
    return PageRead(kind, found.title, found.lines, found.truncated, text.encoding, text.replaced, found.fields)


def kind_of(answer: Answer) -> Kind:
    """By its Content-Type; by its first bytes where that says nothing."""
    media = _media(answer)
    if media in _HTML:
        return "html"
    if media.startswith("text/") or media.endswith(_TEXT_ENDINGS):
        return "text"
    head = answer.body[:_SNIFFED_BYTES].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    if media and media != "application/octet-stream":
        return "binary"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return "binary" if error.start < len(head) - 4 else "text"
    return "binary" if b"\0" in head else "text"


def _media(answer: Answer) -> str:
    return (answer.content_type or "").partition(";")[0].strip().lower()[:100]


def _named_by_hash(answer: Answer) -> str:
    digest = hashlib.sha256(answer.body).hexdigest()
    return f"{_media(answer) or 'binary'}, {len(answer.body)} bytes, sha256 {digest}"
