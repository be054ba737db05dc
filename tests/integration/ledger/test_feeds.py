"""Feeds of lists and pages: what changed, for whoever has the address, until it is taken away."""

import json
from collections.abc import Iterator
from pathlib import Path

import feedparser
import httpx
import pytest

from tests.integration.ledger.telling import World, world_at


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path) as made:
        yield made


def _read(url: str, **headers: str) -> httpx.Response:
    return httpx.get(url, headers=headers, trust_env=False, timeout=30)


@pytest.mark.parametrize("form", ["atom", "rss", "jsonFeed"])
def test_feed_of_a_list_shows_what_changed_to_whoever_has_its_address(world: World, form: str) -> None:
    inside, outside = world.page(), world.page()
    made = world.desk.post("/api/watch/feeds", {"listId": world.in_list(inside)}, 201)
    world.happens(inside)
    world.happens(outside)
    answer = _read(made[form])
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    if form == "jsonFeed":
        read = answer.json()
        entries, title = [(one["title"], one["url"], one["content_html"]) for one in read["items"]], read["title"]
    else:
        parsed = feedparser.parse(answer.content)
        assert not parsed.bozo
        entries = [
            (one.title, one.link, (one.get("content") or [one])[0].get("value") or one.summary)
            for one in parsed.entries
        ]
        title = parsed.feed.title
    ((name, link, html),) = entries
    assert name == f"Page {inside} & more"
    assert link == "https://a.example/default/0"
    assert "<del>-old &lt;b&gt;</del>" in html
    assert "list" in title
    if form == "jsonFeed":
        homes = [read["home_page_url"]] if "home_page_url" in read else []
    else:
        homes = [one.href for one in parsed.feed.links if one.rel == "alternate"]
    # RSS wants a link; elsewhere a list, which has no page of its own on the web, has none.
    assert homes == ([made["rss"]] if form == "rss" else [])
    assert _read(made[form], **{"If-None-Match": answer.headers["etag"]}).status_code == 304
    world.happens(inside)
    assert _read(made[form], **{"If-None-Match": answer.headers["etag"]}).status_code == 200


def test_feed_of_a_page_ends_with_its_removal_and_no_address_is_told_twice(world: World) -> None:
    page = world.page()
    made = world.desk.post("/api/watch/feeds", {"pageId": f"w{page}"}, 201)
    event_ids = []
    for _ in range(2):
        world.happens(page)
        event_ids.append({one["id"] for one in _read(made["jsonFeed"]).json()["items"]})
    assert event_ids[0] < event_ids[1]
    assert _read(made["jsonFeed"]).json()["home_page_url"].startswith("https://a.example/"), "the page itself"
    listed = world.desk.get("/api/watch/feeds")["feeds"]
    assert [one["feedId"] for one in listed] == [made["feed"]["feedId"]]
    secret = made["atom"].rpartition("/")[2].removesuffix(".atom")
    assert secret not in json.dumps(listed)
    assert listed[0]["lastReadAt"] is not None
    wrong = _read(made["atom"].replace(secret, "x" * len(secret)))
    assert world.desk.client.delete(f"/api/watch/feeds/{made['feed']['feedId']}").status_code == 204
    gone = _read(made["atom"])
    assert wrong.status_code == gone.status_code == 404
    assert wrong.json() == gone.json()
    assert gone.json()["error"].startswith("no feed has this address: it never was one, or was taken back")
