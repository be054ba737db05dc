"""A host's sitemaps: read before its pages, each under a lease and after the gap, whatever is wrong with them."""

import itertools
from collections.abc import Iterator

import pytest

from tests.fakes.endpoints import FakeEndpoint
from tests.fakes.http_server import Asked, FakeServer, Reply
from tests.fakes.ledger import FakeLedger
from tests.unit.flows.round import Round


class Site(FakeServer):
    """Answers by path; else 404."""

    def __init__(self) -> None:
        self.answers: dict[str, Reply] = {}
        super().__init__(lambda asked: self.answers.get(asked.path, Reply(404)))

    def urlset(self, path: str, *pages: str) -> None:
        self.answers[path] = Reply(
            text=f"<urlset>{''.join(f'<url><loc>{page}</loc></url>' for page in pages)}</urlset>"
        )

    def index(self, path: str, *sitemaps: str) -> None:
        entries = "".join(f"<sitemap><loc>{self.url}{one}</loc></sitemap>" for one in sitemaps)
        self.answers[path] = Reply(text=f"<sitemapindex>{entries}</sitemapindex>")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("COMITY_ALLOW_PRIVATE", "127.0.0.0/8")
    with Site() as running:
        yield running


def visit(ledger: FakeLedger, site: Site, *paths: str, delay_ms: int = 0, pages: int = 1) -> list[Asked]:
    """Visit the host that has these sitemaps; what the capture server was asked."""
    with FakeEndpoint() as endpoint:
        sitemaps = tuple(site.url + path for path in paths)
        Round(ledger, [endpoint.url], pages=pages, delay_ms=delay_ms, sitemaps=sitemaps).run()
        return list(endpoint.captures)


def told(ledger: FakeLedger, site: Site) -> list[tuple[str, str, list[str]]]:
    return [(one.url.removeprefix(site.url), one.outcome, one.urls) for one in ledger.sitemaps]


def test_sitemaps_and_those_of_an_index_are_told_before_the_pages(ledger: FakeLedger, site: Site) -> None:
    site.index("/i.xml", "/a.xml", "/gone.xml")
    site.urlset("/a.xml", "http://a.test/1", "http://a.test/2")
    site.urlset("/b.xml", "http://a.test/3")
    captures = visit(ledger, site, "/i.xml", "/b.xml")
    assert told(ledger, site) == [
        ("/i.xml", "read", []),
        ("/b.xml", "read", ["http://a.test/3"]),
        ("/a.xml", "read", ["http://a.test/1", "http://a.test/2"]),
        ("/gone.xml", "HTTP 404", []),
    ]
    assert max(asked.at for asked in site.asked) < captures[0].at
    assert [one.status for one in ledger.results] == ["captured"]


def test_each_sitemap_is_a_visit_with_a_lease_and_the_gap_before_it(ledger: FakeLedger, site: Site) -> None:
    site.urlset("/a.xml")
    site.urlset("/b.xml")
    captures = visit(ledger, site, "/a.xml", "/b.xml", delay_ms=300)
    assert [one.visited for one in ledger.released] == [True, True, True]
    at = [asked.at for asked in (*site.asked, *captures)]
    assert all(later - earlier >= 0.3 for earlier, later in itertools.pairwise(at))


def test_broken_sitemap_keeps_what_it_named_and_no_page_waiting(ledger: FakeLedger, site: Site) -> None:
    site.answers["/a.xml"] = Reply(text="<urlset><url><loc>http://a.test/1</loc></url><url>")
    site.answers["/b.xml"] = Reply(cut=True)
    visit(ledger, site, "/a.xml", "/b.xml")
    [first, second] = told(ledger, site)
    assert first[2] == ["http://a.test/1"]
    assert first[1].startswith("is not well-formed XML")
    assert (second[1] != "read", second[2]) == (True, [])
    assert [one.status for one in ledger.results] == ["captured"]


def test_host_that_wants_rest_gets_it_and_its_other_sitemaps_are_left(ledger: FakeLedger, site: Site) -> None:
    site.answers["/a.xml"] = Reply(429, headers={"retry-after": "1"})
    site.urlset("/b.xml", "http://a.test/1")
    captures = visit(ledger, site, "/a.xml", "/b.xml")
    assert [asked.path for asked in site.asked] == ["/a.xml"]
    assert ledger.released[0].retry_after_ms == 1000
    assert captures[0].at - site.asked[0].at >= 1


def test_host_that_wants_too_long_a_rest_is_skipped(ledger: FakeLedger, site: Site) -> None:
    ledger.wait_ms = 700_000
    assert visit(ledger, site, "/a.xml") == []
    assert site.asked == []
    assert [one.visited for one in ledger.released] == [False, False]
    assert [one.status for one in ledger.results] == ["skipped"]


def test_ledger_that_says_stop_ends_the_reading(ledger: FakeLedger, site: Site) -> None:
    site.urlset("/a.xml", "http://a.test/1")
    ledger.stop = "the crawl was cancelled"
    assert visit(ledger, site, "/a.xml", "/b.xml") == []
    assert [asked.path for asked in site.asked] == ["/a.xml"]
