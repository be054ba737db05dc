"""Addresses, one a line. Empty lines and those that begin with `#` are passed over."""

from collections.abc import Iterable

from comity.watch.page_files.pages import FilePage, PagesRead, Reading


def read_urls(text: str) -> PagesRead:
    """What stands behind the first blank of a line is the page's title."""
    reading = Reading()
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        url, _, title = words.partition(" ")
        reading.add(FilePage(url, title.strip(), line=number))
    return reading.done()


def write_urls(pages: Iterable[FilePage]) -> str:
    """Titles included, so that reading gives them back. Lists and labels are left out."""
    lines = (f"{page.url} {' '.join(page.title.split())}".rstrip() for page in pages)
    return "".join(f"{line}\n" for line in lines)
