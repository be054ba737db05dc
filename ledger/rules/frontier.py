"""Which links of a captured page may be followed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from ledger.rules.robots_directives import RobotsDirective, page_forbids_following
from ledger.rules.scope import frontier_url

MAX_LINKS_PER_PAGE = 10_000
"""A page with more is a trap or an index of everything; no crawl has room for them anyway."""


@dataclass(frozen=True)
class Link:
    """A link as the page has it: `rel` is a set of space-separated tokens."""

    href: str
    rel: str | None = None


def nofollow(rel: str | None) -> bool:
    """True where `rel` has the token `nofollow`, in any case (HTML, 4.6.6.14)."""
    return rel is not None and "nofollow" in rel.lower().split()


def followable(links: Iterable[Link], final_url: str, robots: Iterable[RobotsDirective] = ()) -> list[str]:
    """URLs that a crawl could go on to, in document order, each once: http(s), no `nofollow`, fragment dropped.

    `final_url` is where the page really was, after redirects: relative links are read from there. `robots` is what the
    page tells robots, of a crawl that respects it: none of its links where it says `nofollow`.
    """
    if page_forbids_following(robots):
        return []
    urls: dict[str, None] = {}
    for link in links:
        if nofollow(link.rel):
            continue
        url = _absolute(link.href, final_url)
        if url is not None:
            urls[url] = None
        if len(urls) >= MAX_LINKS_PER_PAGE:
            break
    return list(urls)


def _absolute(href: str, final_url: str) -> str | None:
    href = href.strip()
    try:
        # urljoin would normalise an absolute URL too, and nothing but the fragment may change.
        return frontier_url(href if urlsplit(href).scheme else urljoin(final_url, href))
    except ValueError:
        return None


def in_order(pages: Iterable[list[str]]) -> Iterator[str]:
    """The links of all pages: pages in frontier order, each page's links in document order."""
    for links in pages:
        yield from links
