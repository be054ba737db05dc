"""Which sitemaps of a host are read, and when it is enough."""

import pytest

from comity.contract.ledger import MAX_SITEMAP_URLS
from comity.polite.rules.robots import RobotsFetch, RobotsRuling, judge
from comity.polite.rules.sitemaps import Sitemap, SitemapFetch
from flows.rules.sitemaps import MAX_SITEMAPS_PER_HOST, MAX_URLS_PER_HOST, SitemapQueue, first_sitemaps, told

HOME = "http://a.test"


def ruling(body: str, origin: str = HOME) -> RobotsRuling:
    return judge(RobotsFetch(origin, "found", body=body.encode()), [f"{origin}/", f"{origin}/sitemap.xml"])


def fetched(
    url: str, urls: list[str] | None = None, sitemaps: list[str] | None = None, problem: str = ""
) -> SitemapFetch:
    return SitemapFetch(url, Sitemap(urls or [], sitemaps or [], problem))


@pytest.mark.parametrize(
    ("body", "sitemaps"),
    [
        ("", (f"{HOME}/sitemap.xml",)),
        (f"Sitemap: {HOME}/one.xml\nSitemap: {HOME}/two.xml.gz", (f"{HOME}/one.xml", f"{HOME}/two.xml.gz")),
        ("sitemap: /relative.xml", (f"{HOME}/relative.xml",)),
        (f"Sitemap: http://b.test/x.xml\nSitemap: {HOME}/one.xml", (f"{HOME}/one.xml",)),
        ("Sitemap: http://b.test/x.xml", (f"{HOME}/sitemap.xml",)),
        ("Sitemap: https://a.test/secure.xml", ("https://a.test/secure.xml",)),
        ("Sitemap: http://a.test:8080/x.xml\nSitemap: http://[\nSitemap: ftp://a.test/", (f"{HOME}/sitemap.xml",)),
        ("User-agent: comity\nDisallow: /sitemap.xml", ()),
        (f"User-agent: comity\nDisallow: /one.xml\nSitemap: {HOME}/one.xml", (f"{HOME}/one.xml",)),
        (f"Sitemap: {HOME}/{'x' * 3000}", (f"{HOME}/sitemap.xml",)),
    ],
)
def test_host_begins_with_what_robots_lists_else_at_the_well_known_place(body: str, sitemaps: tuple[str, ...]) -> None:
    assert first_sitemaps([f"{HOME}/", f"{HOME}/x"], [ruling(body)]) == sitemaps


def test_host_without_rulings_begins_at_the_well_known_place() -> None:
    assert first_sitemaps([f"{HOME}/"], ()) == (f"{HOME}/sitemap.xml",)
    assert first_sitemaps(["not a url"], ()) == ()


def test_index_is_followed_once_and_within_the_host() -> None:
    queue = SitemapQueue.beginning_at([f"{HOME}/i.xml"])
    assert queue.next() == (f"{HOME}/i.xml", 1)
    found = fetched(
        f"{HOME}/i.xml", sitemaps=[f"{HOME}/a.xml", "http://b.test/b.xml", f"{HOME}/i.xml", "x", f"{HOME}/a.xml"]
    )
    assert queue.took(found, 1) == []
    assert queue.next() == (f"{HOME}/a.xml", 2)
    queue.took(fetched(f"{HOME}/a.xml", sitemaps=[f"{HOME}/deeper.xml"]), 2)
    assert queue.next() is None


def test_sitemaps_and_pages_of_a_host_are_bounded() -> None:
    queue = SitemapQueue.beginning_at([f"{HOME}/i.xml"])
    queue.next()
    queue.took(fetched("i", sitemaps=[f"{HOME}/{number}.xml" for number in range(100)]), 1)
    assert len(queue.waiting) == MAX_SITEMAPS_PER_HOST - 1
    first = queue.took(fetched("0", urls=[f"{HOME}/{number}" for number in range(MAX_URLS_PER_HOST - 1)]), 2)
    assert len(first) == MAX_URLS_PER_HOST - 1
    assert queue.next() is not None
    assert queue.took(fetched("1", urls=[f"{HOME}/x", f"{HOME}/y"]), 2) == [f"{HOME}/x"]
    assert queue.next() is None


def test_ledger_is_told_in_parts_and_of_nothing_too() -> None:
    urls = [f"{HOME}/{number}" for number in range(MAX_SITEMAP_URLS + 1)]
    parts = told(fetched("s", problem="x" * 600), urls)
    assert [(one.part, len(one.urls), len(one.outcome)) for one in parts] == [(0, MAX_SITEMAP_URLS, 500), (1, 1, 500)]
    assert [(one.outcome, one.urls) for one in told(fetched("s"), [])] == [("read", [])]
