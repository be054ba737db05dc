"""`POST /api/watch/preview`: what a visit would find, told before a page is watched."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.ledger.desk import Desk, Json
from tests.integration.ledger.watching import OFFERS
from tests.site import FixtureSite
from tests.site.changing import ChangingPage
from tests.site.wire import Response

pytestmark = pytest.mark.one_database
LINES = ("A page about the harbour", "The ferry leaves at nine", "Tickets cost 12.50")
HARBOUR = ("港まで歩いて三分です", "カフェの営業時間は十時から", "土曜日は休みます")
WHOLE = {"watched": {"kind": "whole"}}


@pytest.fixture
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=3, crawl_delay={1: 60.0}) as running:
        yield running


def look(desk: Desk, url: str, status: int = 200, **more: Any) -> Json:
    answer: Json = desk.post("/api/watch/preview", {"url": url, "settings": WHOLE, **more}, status)
    return answer


def test_preview_shows_title_text_encoding_and_what_would_not_count(desk: Desk, site: FixtureSite) -> None:
    site.set("/page", ChangingPage(HARBOUR, encoding="euc_jp", label=None, counter=True), host=0)

    seen = look(desk, site.url(0, "/page"))

    assert (seen["title"], seen["encoding"], seen["kind"]) == ("A page that changes", "euc-jp", "html")
    assert seen["text"].split("\n")[::2] == [HARBOUR[0], HARBOUR[1]]
    assert seen["fetchedTwice"]
    assert [line.partition(":")[0] for line in seen["volatileLines"]] == ["Visitors"]
    assert len(site.asked_for("/page")) == 2
    assert not site.overlapping_visits()


def test_preview_of_what_cannot_be_watched_says_why(desk: Desk, site: FixtureSite) -> None:
    site.set("/gone", Response(status=410), host=0)
    site.set("/empty", Response(body=b"<p> </p>"), host=0)
    said = {path: look(desk, site.url(0, path), again=False)["problem"]["code"] for path in ("/gone", "/empty")}
    said["robots"] = look(desk, site.forbidden(), again=False)["problem"]["code"]
    said["inside"] = look(desk, "http://10.0.0.1/", again=False)["problem"]["code"]

    assert said == {
        "/gone": "E_HTTP_STATUS",
        "/empty": "E_CONTENT_MISSING",
        "robots": "E_ROBOTS",
        "inside": "E_ROBOTS",
    }


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://127.0.0.2/"}, "url"),
        ({"url": "http://127.0.0.2/", "settings": {"watched": {"kind": "selector", "selector": "a[["}}},
         "settings.watched.selector"),
        ({"url": "http://127.0.0.2/", "settings": {"ignore": ["(["]}}, "settings.ignore.0"),
    ],
)  # fmt: skip
def test_bad_order_is_refused_naming_its_field(desk: Desk, body: Json, field: str) -> None:
    answer = desk.post("/api/watch/preview", body, 400)
    assert [one["field"] for one in answer["fields"]] == [field]


def test_page_without_main_content_would_be_watched_whole_and_preview_says_so(desk: Desk, site: FixtureSite) -> None:
    links = b"<nav><a href=/one>One</a></nav><nav><a href=/two>Two</a></nav>"
    site.set("/list", Response(body=links), host=0)
    site.set("/article", Response(body=links + b"<main><p>The ferry leaves at nine</p></main>"), host=2)
    listing = look(desk, site.url(0, "/list"), settings={}, again=False)
    article = look(desk, site.url(2, "/article"), settings={}, again=False)

    assert (listing["text"], listing["wholeInstead"]) == ("One\nTwo", True)
    assert (article["text"], article["wholeInstead"]) == ("The ferry leaves at nine", False)


def test_preview_shows_the_fields_of_an_extractor_without_another_visit(desk: Desk, site: FixtureSite) -> None:
    desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    site.set("/offer", Response(body=b"<h2 class=name>Ferry</h2><b class=price>12.50</b><p>fair"), host=0)
    site.set("/other", Response(body=b"<p>no offer"), host=2)
    watched = {"kind": "extractor", "id": "offers", "version": 1}
    every = look(desk, site.url(0, "/offer"), settings={"watched": watched}, again=False)
    one = look(desk, site.url(0, "/offer"), settings={"watched": {**watched, "fields": ["price"]}}, again=False)
    missing = look(desk, site.url(2, "/other"), settings={"watched": watched}, again=False)

    assert every["fields"] == {"name": "Ferry", "price": "12.50"}
    assert every["text"] == "name: Ferry\nprice: 12.50"
    assert (one["fields"], one["lines"]) == ({"price": "12.50"}, 1)
    assert missing["problem"]["code"] == "E_CONTENT_MISSING"
    assert len(site.asked_for("/offer")) == 2


@pytest.mark.parametrize(
    ("watched", "field", "words"),
    [
        ({"id": "other", "version": 1}, "id", "no extractor 'other'"),
        ({"id": "offers", "version": 7}, "version", "it has 1"),
        ({"id": "offers", "version": 1, "fields": ["price", "colour"]}, "fields.1", "it has name, price"),
    ],
)
def test_extractor_or_field_that_there_is_not_is_refused_before_any_visit(
    desk: Desk, site: FixtureSite, watched: Json, field: str, words: str
) -> None:
    desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    refusal = look(desk, site.url(0, "/offer"), 400, settings={"watched": {"kind": "extractor", **watched}})

    [problem] = refusal["fields"]
    assert problem["field"] == f"settings.watched.{field}"
    assert words in problem["message"]
    assert not site.requests(0)


def test_preview_waits_for_no_host_that_others_have(desk: Desk, site: FixtureSite) -> None:
    site.set("/page", ChangingPage(LINES), host=0)
    desk.post("/api/watch/pages", {"pages": [{"url": site.url(0, "/page")}]}, 201)
    [job] = desk.post("/api/watch/queue/claim", {"worker": "worker-1", "max": 1})["jobs"]
    taken = look(desk, site.url(0, "/page"), 409)
    desk.post("/api/watch/queue/return", {"tokens": [job["token"]]})
    seen = look(desk, site.url(0, "/page"), again=False)

    assert taken["retryAfterMs"] > 0
    assert "problem" not in seen or seen["problem"] is None
