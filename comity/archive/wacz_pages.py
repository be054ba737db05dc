"""The page list of a WACZ, read from wherever it lies without reading the rest of it (WACZ 1.1.1, section 5.2.2)."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
MAX_PAGES = 1000


class NoPages(ValueError):  # noqa: N818  says what is so
    """The file is no WACZ, or its page list cannot be read."""


@dataclass(frozen=True)
class ListedPage:
    """One line of the list. `text` is what the page rendered, where the archive's maker kept it."""

    url: str
    title: str
    text: str


def listed_pages(archive: BinaryIO, *, max_bytes: int) -> list[ListedPage]:
    """The pages that a WACZ names, of at most `max_bytes` of list. Reads the ZIP's directory and the list alone.

    Raises NoPages; OSError as the file does.
    """
    try:
        with zipfile.ZipFile(archive) as package:
            there = set(package.namelist())
            lines = [line for name in PAGE_LISTS if name in there for line in _lines(package, name, max_bytes)]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise NoPages(f"is not a ZIP that can be read: {error}") from None
    if not there & set(PAGE_LISTS):
        raise NoPages(f"is not a WACZ: it has no {PAGE_LISTS[0]}")
    return [page for line in lines[:MAX_PAGES] for page in _page(line)]


def _lines(package: zipfile.ZipFile, name: str, max_bytes: int) -> list[str]:
    with package.open(name) as member:
        data = member.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise NoPages(f"its {name} is over {max_bytes} bytes")
    return data.decode("utf-8", "replace").splitlines()


def _page(line: str) -> Iterator[ListedPage]:
    try:
        page = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(page, dict) and isinstance(page.get("url"), str):
        title, text = page.get("title"), page.get("text")
        yield ListedPage(page["url"], title if isinstance(title, str) else "", text if isinstance(text, str) else "")
