"""What a feed says, before it has a format."""

import re
from dataclasses import dataclass
from datetime import datetime
from xml.etree import ElementTree as ET

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MAX_TITLE_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was found. `id` is a URI that never changes; `html` is ours, its foreign parts escaped already.

    `url` is the watched page's own address, whatever it may be: formats write it as text, never as markup.
    """

    id: str
    title: str
    url: str
    at: datetime
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class Feed:
    """Entries newest first. `updated_at` is the newest entry's time, or that of the list's making.

    `home_url` is a page that shows the same on the web; empty where there is none.
    """

    id: str
    title: str
    home_url: str
    feed_url: str
    updated_at: datetime
    entries: tuple[Entry, ...]
    description: str = ""


def xml_text(text: str) -> str:
    """Without the characters that XML 1.0 (2.2) has no place for: no reader would take the feed with one."""
    return _NOT_XML.sub("\ufffd", text)


def one_line(text: str) -> str:
    """A title: one line, of bearable length, never empty (RSS and some readers refuse an empty one)."""
    line = " ".join(xml_text(text).split())
    if len(line) > MAX_TITLE_CHARACTERS:
        line = line[: MAX_TITLE_CHARACTERS - 1] + "…"
    return line or "(no title)"


def xml_bytes(root: ET.Element) -> bytes:
    """The document as UTF-8, with its declaration."""
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written
