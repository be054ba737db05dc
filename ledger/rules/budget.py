"""How many pages a crawl may have, and what its captures ask for."""

from collections.abc import Iterable
from dataclasses import dataclass

MAX_CRAWL_PAGES = 10_000
"""No crawl has more, whatever its targets."""

DEFAULT_MAX_DEPTH = 2
DEFAULT_MAX_DEPTH_FROM_TARGETS = 0
"""A list of targets names the very pages that someone wants; it is not a place to wander off from."""


@dataclass(frozen=True)
class Entry:
    """URLs that go in, in order. `cut`: others were in scope and new, but the budget was full."""

    urls: tuple[str, ...]
    cut: bool


def max_depth(asked: int | None, from_targets: bool) -> int:
    """Levels beyond the seeds."""
    if asked is not None:
        return asked
    return DEFAULT_MAX_DEPTH_FROM_TARGETS if from_targets else DEFAULT_MAX_DEPTH


def max_pages(asked: int, targets: int | None) -> int:
    """Pages of the whole crawl, seeds included. A target list is visited whole, whatever was asked."""
    return asked if targets is None else min(MAX_CRAWL_PAGES, max(asked, targets))


def admit(candidates: Iterable[str], known: Iterable[str], limit: int) -> Entry:
    """The first candidates that are new, as long as the crawl has room. `known` are all pages that it has already."""
    seen = set(known)
    room = limit - len(seen)
    urls: list[str] = []
    for url in candidates:
        if url in seen:
            continue
        if len(urls) >= room:
            return Entry(tuple(urls), cut=True)
        seen.add(url)
        urls.append(url)
    return Entry(tuple(urls), cut=False)
