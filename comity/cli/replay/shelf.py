"""What there is to replay: pages and the archives that they are in, from files or from a crawl in the ledger."""

import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from comity.archive.verify.container import Container, cut_off, directory_problems
from comity.cli.console import counted
from comity.cli.errors import BadInput
from comity.cli.summary import path_of
from comity.contract.ledger import CrawlView, PageView

PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, RuntimeError)
"""What `zipfile` raises for bytes that are no ZIP, and for members that are broken, encrypted or oddly packed."""


@dataclass(frozen=True)
class Item:
    """One page. `archive` counts into the shelf's archives; None: it cannot be shown, and `note` says why."""

    url: str
    title: str = ""
    captured: str = ""
    archive: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Shelf:
    title: str
    items: tuple[Item, ...]
    archives: tuple[Path, ...]
    damaged: tuple[str, ...] = ()
    """A line for each archive whose ZIP is not whole, though its pages can be listed."""


def shelf_of_files(files: Sequence[Path]) -> Shelf:
    """The pages that these archives name. Raises BadInput naming the file that is no WACZ."""
    archives = tuple(file.resolve() for file in files)
    items = tuple(item for number, file in enumerate(archives) for item in _items(number, file))
    title = files[0].name if len(files) == 1 else counted(len(files), "archive")
    return Shelf(title, items, archives, tuple(line for file in archives if (line := _damage(file))))


def shelf_of_crawl(crawl: CrawlView, pages: Sequence[PageView]) -> Shelf:
    """The crawl's pages in the ledger's order, those without an archive too. Raises BadInput where none has one."""
    archives: list[Path] = []
    items: list[Item] = []
    for page in pages:
        location = page.artifacts.get("wacz")
        place = Path(path_of(location)) if location else None
        if place is not None and place.is_absolute() and place.is_file():
            captured = f"{page.settled_at:%Y-%m-%d %H:%M:%S}" if page.settled_at else ""
            items.append(Item(page.url, _title(place), captured, archive=len(archives)))
            archives.append(place)
        else:
            items.append(Item(page.url, note=f"its archive is not here: {location}" if location else _why(page)))
    if not archives:
        raise BadInput(f"crawl {crawl.id} has no archive on this machine: {len(pages)} pages, state {crawl.state}")
    return Shelf(f"crawl {crawl.id}", tuple(items), tuple(archives))


def _title(archive: Path) -> str:
    """The title of the archive's first page; a list is worth showing without it."""
    try:
        return next((item.title for item in _items(0, archive)), "")
    except BadInput:
        return ""


def _why(page: PageView) -> str:
    if page.state == "captured":
        return "captured without wacz"
    return f"{page.state}: {page.reason}" if page.reason else page.state


def _items(number: int, file: Path) -> list[Item]:
    try:
        with zipfile.ZipFile(file) as package:
            lists = [package.read(name) for name in PAGE_LISTS if name in package.namelist()]
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror or error})") from None
    except UNREADABLE as error:
        with file.open("rb") as opened:
            raise BadInput(f"{file}: is not a WACZ: {cut_off(opened) or error}") from None
    if not lists:
        raise BadInput(f"{file}: is not a WACZ: it has no {PAGE_LISTS[0]}")
    return [_item(number, page) for data in lists for page in _pages(data)]


def _damage(file: Path) -> str:
    """What is wrong with the ZIP of a file whose pages could be listed. No member is read: that is `verify`'s."""
    with file.open("rb") as opened, zipfile.ZipFile(opened) as package:
        problems = directory_problems(Container(opened, package, {}))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{file}: is damaged: {problems[0]}{more}; `comity verify` tells all" if problems else ""


def _pages(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            page = json.loads(line)
        except ValueError:
            continue
        if isinstance(page, dict) and isinstance(page.get("url"), str):
            found.append(page)
    return found


def _item(number: int, page: dict[str, Any]) -> Item:
    return Item(
        page["url"], title=str(page.get("title") or ""), captured=_readable(str(page.get("ts") or "")), archive=number
    )


def _readable(moment: str) -> str:
    try:
        return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return moment
