"""What sitemaps name becomes part of the next frontier, by the rules that hold for every link."""

from typing import Any

import pytest
from sqlalchemy import select

from ledger.store.models_sitemaps import SitemapPart
from tests.integration.ledger.desk import Desk, Json

SITE = "http://127.0.0.2:8000"


def read(*urls: str, url: str = f"{SITE}/sitemap.xml", part: int = 0, outcome: str = "read") -> Json:
    return {"url": url, "part": part, "outcome": outcome, "urls": list(urls)}


def tell(desk: Desk, crawl_id: str, *sitemaps: Json, status: int = 200, **fence: Any) -> Json:
    body = {**desk.fence(crawl_id, **fence), "results": [], "sitemaps": list(sitemaps)}
    return desk.post(f"/api/crawls/{crawl_id}/results", body, status)


def close(desk: Desk, crawl_id: str, *links: str) -> list[str]:
    """Capture the first level and close it; what comes next."""
    for page in desk.order(crawl_id)["frontier"]:
        desk.report(crawl_id, [desk.captured(crawl_id, page, list(links))])
    return [page["url"] for page in desk.close(crawl_id)["next"]]


def test_sitemaps_come_after_the_pages_links_by_the_same_rules(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, sitemaps=True, exclude=["/private"])
    assert desk.order(crawl_id)["sitemaps"] is True
    urls = ["/b", "/a#x", "/a", "/", "/private", f"{SITE}/c", "http://127.0.0.3/out", "javascript:1", "http://["]
    assert tell(desk, crawl_id, read(*urls[:4]), read(*urls[4:], part=1))["stop"] is False
    tell(desk, crawl_id, read("/d", url=f"{SITE}/maps/two.xml", outcome="is not well-formed XML"))
    assert close(desk, crawl_id, f"{SITE}/z", f"{SITE}/c") == [f"{SITE}/{name}" for name in "zcbad"]


def test_sitemap_that_is_told_twice_counts_once(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, sitemaps=True)
    for urls in (["/a"], ["/a"], ["/b"]):
        tell(desk, crawl_id, read(*urls))
    assert close(desk, crawl_id) == [f"{SITE}/a"]


def test_budget_prefers_links_of_pages(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, maxPages=3, sitemaps=True)
    tell(desk, crawl_id, read(*(f"/{number}" for number in range(2000))))
    assert close(desk, crawl_id, f"{SITE}/z") == [f"{SITE}/z", f"{SITE}/0"]


def test_links_are_dropped_with_the_closing_and_what_was_read_stays(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, sitemaps=True)
    tell(desk, crawl_id, read("/a", "/b"))
    close(desk, crawl_id)
    with desk.parts.store.reading() as tx:
        [row] = tx.scalars(select(SitemapPart).where(SitemapPart.crawl_id == crawl_id))
    assert (row.url, row.outcome, row.named, row.links) == (f"{SITE}/sitemap.xml", "read", 2, [])
    assert desk.order(crawl_id, 1)["sitemaps"] is False


@pytest.mark.parametrize("policy", [{"sitemaps": False, "maxDepth": 1}, {"sitemaps": True, "maxDepth": 0}])
def test_sitemaps_that_nobody_wanted_are_not_asked_for_and_not_kept(desk: Desk, policy: Json) -> None:
    crawl_id = desk.start(f"{SITE}/", **policy)
    assert desk.order(crawl_id)["sitemaps"] is False
    tell(desk, crawl_id, read("/a"))
    assert close(desk, crawl_id) == []


def test_stale_run_adds_nothing(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, sitemaps=True)
    desk.order(crawl_id)
    assert tell(desk, crawl_id, read("/a"), runId="another")["stop"] is True
    assert close(desk, crawl_id) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": ""}, "sitemaps.0.url"),
        ({"url": "x" * 2049}, "sitemaps.0.url"),
        ({"part": -1}, "sitemaps.0.part"),
        ({"outcome": ""}, "sitemaps.0.outcome"),
        ({"urls": ["/"] * 2001}, "sitemaps.0.urls"),
        ({"urls": ["a\0b"]}, "sitemaps.0.urls.0"),
        ({"more": 1}, "sitemaps.0.more"),
    ],
)
def test_bad_sitemap_is_refused_by_its_field(desk: Desk, change: Json, field: str) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, sitemaps=True)
    refusal = tell(desk, crawl_id, {**read("/a"), **change}, status=400)
    assert refusal["fields"][0]["field"] == field
    assert close(desk, crawl_id) == []
