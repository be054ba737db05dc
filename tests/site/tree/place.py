"""What a site of the tree consists of."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Page:
    """One page; `links` are paths on the same host, shown as cards in this order."""

    path: str
    title: str
    lede: str
    paragraphs: tuple[str, ...]
    links: tuple[str, ...] = ()
    extra: Literal["", "gallery", "feed", "guestbook"] = ""


@dataclass(frozen=True, slots=True)
class Place:
    """One site. The first page is its seed."""

    key: str
    """Names its palette and emblem."""
    lang: Literal["en", "ja"]
    name: str
    motto: str
    accent: str
    paper: str
    pages: tuple[Page, ...]
    dangling: str = ""
    """A path that the page at `dangling_on` links to and nobody serves."""
    dangling_on: str = ""
    moved: tuple[str, str] = ("", "")
    """(old path, new path): the old one redirects, and the first page still links to it."""
    forbidden: str = ""
    """A linked path that robots.txt forbids."""
