"""Which sitemaps of a host are read, in which order, and when it is enough."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from comity.contract.ledger import MAX_SITEMAP_URL_CHARACTERS, MAX_SITEMAP_URLS, SitemapRead
from comity.contract.web_address import web_url
from comity.polite.errors import NotAWebUrlError
from comity.polite.rules.robots import RobotsRuling, authority_of, origins_of
from comity.polite.rules.sitemaps import SitemapFetch

MAX_SITEMAPS_PER_HOST = 20
"""Each is a request that the host's pages wait for, a gap before it."""
MAX_URLS_PER_HOST = 50_000
MAX_DEPTH = 2
"""A sitemap, or the sitemaps of an index; an index in an index is read no further."""
WELL_KNOWN = "/sitemap.xml"


def of_same_host(urls: Iterable[str], authority: str) -> list[str]:
    """Those that a visit to this host can ask for. Another host's sitemap is that host's own affair."""
    found: dict[str, None] = {}
    for url in urls:
        try:
            if authority_of(web_url(url)) == authority and len(url) <= MAX_SITEMAP_URL_CHARACTERS:
                found[url] = None
        except ValueError:
            continue
    return list(found)


def first_sitemaps(urls: Sequence[str], rulings: Iterable[RobotsRuling]) -> tuple[str, ...]:
    """Where to begin at a host whose pages are `urls`: what robots.txt lists, else the well-known place it allows.

    Without rulings, nobody's robots.txt was asked.
    """
    try:
        origins = origins_of(urls)
    except NotAWebUrlError:
        return ()
    by_origin = {ruling.origin: ruling for ruling in rulings}
    listed = [url for origin in origins if origin in by_origin for url in by_origin[origin].sitemaps]
    own = of_same_host(listed, authority_of(urls[0]))
    if own:
        return tuple(own)
    return tuple(
        f"{origin}{WELL_KNOWN}"
        for origin in origins
        if origin not in by_origin
        or any(verdict.allowed for verdict in by_origin[origin].verdicts if verdict.url == f"{origin}{WELL_KNOWN}")
    )


@dataclass
class SitemapQueue:
    """The sitemaps of one host that are still to be read."""

    authority: str
    waiting: list[tuple[str, int]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    urls: int = 0

    @classmethod
    def beginning_at(cls, sitemaps: Sequence[str]) -> "SitemapQueue":
        """A queue of these; all are of one host."""
        queue = cls(authority_of(sitemaps[0])) if sitemaps else cls("")
        queue._add(sitemaps, 1)
        return queue

    def next(self) -> tuple[str, int] | None:
        """The next sitemap and its depth, or None where it is enough."""
        return self.waiting.pop(0) if self.waiting and self.urls < MAX_URLS_PER_HOST else None

    def took(self, fetched: SitemapFetch, depth: int) -> list[str]:
        """The pages that the sitemap names, as many as there is room for; its own sitemaps are queued."""
        if depth < MAX_DEPTH:
            self._add(of_same_host(fetched.found.sitemaps, self.authority), depth + 1)
        fitting = [url for url in fetched.found.urls if len(url) <= MAX_SITEMAP_URL_CHARACTERS]
        urls = fitting[: MAX_URLS_PER_HOST - self.urls]
        self.urls += len(urls)
        return urls

    def _add(self, sitemaps: Iterable[str], depth: int) -> None:
        for url in sitemaps:
            if url not in self.seen and len(self.seen) < MAX_SITEMAPS_PER_HOST:
                self.seen.add(url)
                self.waiting.append((url, depth))


def told(fetched: SitemapFetch, urls: Sequence[str]) -> list[SitemapRead]:
    """What the ledger is told of one sitemap, in parts that fit into a call each; one part also for no page."""
    outcome = fetched.found.problem or "read"
    parts = [urls[start : start + MAX_SITEMAP_URLS] for start in range(0, len(urls), MAX_SITEMAP_URLS)] or [()]
    return [
        SitemapRead(url=fetched.url, part=number, outcome=outcome[:500], urls=list(part))
        for number, part in enumerate(parts)
    ]
