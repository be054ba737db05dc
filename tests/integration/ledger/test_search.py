"""Search over what captured pages say, through the API, on the ledger's own database."""

from pathlib import Path

import pytest

from ledger.store.database import Tx
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at, wait_until
from tests.integration.ledger.stored import into, store

SITE = "http://127.0.0.2:8000"
TEXTS = {
    "/menu": ("お品書き", "煎茶、ほうじ茶、それから日替わりの沈黙。看板猫の名は「おぼろ」。"),
    "/fox": ("A quick story", "The quick brown fox jumps over the lazy dog. It doesn't stop."),
    "/dog": ("Dogs", "A brown dog is quick; the fox is not. 東京 tower."),
}


def _capture(desk: Desk, texts: dict[str, tuple[str, str]] | None = None, **more: object) -> str:
    texts = TEXTS if texts is None else texts
    crawl_id = desk.start(*(f"{SITE}{path}" for path in texts), maxDepth=0)
    for page in desk.order(crawl_id)["frontier"]:
        title, text = texts[page["url"].removeprefix(SITE)]
        stored = store(into(desk.root), crawl_id, page, title=title, text=text, **more)  # type: ignore[arg-type]
        desk.report(crawl_id, [stored.result])
    desk.close(crawl_id)
    return crawl_id


def _index(desk: Desk, crawl_id: str) -> Json:
    return desk.post(f"/api/crawls/{crawl_id}/index", status=202)


def _found(desk: Desk, query: str) -> set[str]:
    answer = desk.get("/api/search", q=query)
    assert answer["total"] == len(answer["hits"])
    return {hit["url"].removeprefix(SITE) for hit in answer["hits"]}


@pytest.fixture(scope="module")
def library(shared_desk: Desk) -> Desk:
    """A ledger with three pages indexed."""
    crawl_id = _capture(shared_desk)
    assert _index(shared_desk, crawl_id) == {"indexed": 3, "pages": 3}
    return shared_desk


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("煎茶", {"/menu"}),
        ("沈黙", {"/menu"}),
        ("茶", {"/menu"}),
        ("看板猫", {"/menu"}),
        ("品書", {"/menu"}),
        ("板看", set()),
        ("お品書き おぼろ", {"/menu"}),
        ('"quick brown fox"', {"/fox"}),
        ('"brown quick"', set()),
        ("QUICK fox", {"/fox", "/dog"}),
        ("quick absent", set()),
        ("doesn't", {"/fox"}),
        ("ｆｏｘ", {"/fox", "/dog"}),
        ('"東京 tower"', {"/dog"}),
        ("fo", set()),
        ("stories", set()),
        ("!!!", set()),
        ('"', set()),
    ],
)
def test_words_phrases_and_two_characters_find_their_pages(library: Desk, query: str, expected: set[str]) -> None:
    assert _found(library, query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "NEAR(a b)",
        "a AND",
        "OR",
        "NOT x",
        "terms:x",
        "x*",
        "^x",
        "a-b",
        "{absent}",
        "(",
        "'",
        "a'b",
        "x & !y",
        "\\",
        "%",
        "_",
        "\x01",
    ],
)
def test_nothing_typed_is_a_syntax_error(library: Desk, query: str) -> None:
    assert _found(library, query) == set()


def test_hit_tells_its_archive_title_and_the_words_around(library: Desk) -> None:
    [hit] = library.get("/api/search", q='"brown fox"')["hits"]
    assert hit["title"] == "A quick story"
    assert hit["snippet"] == "The quick «brown fox» jumps over the lazy dog. It doesn't stop."
    assert library.post(f"/api/archives/{hit['archiveId']}/url")["expiresIn"] == 300
    titles = {archive["url"]: archive["title"] for archive in library.get("/api/archives")["archives"]}
    assert titles[f"{SITE}/menu"] == "お品書き"


def test_total_counts_beyond_the_limit_and_what_the_caller_may_see_alone(library: Desk) -> None:
    answer = library.get("/api/search", q="quick", limit=1)
    assert (len(answer["hits"]), answer["total"]) == (1, 2)
    searches = library.parts.searches
    assert searches.search("quick", limit=10, organizations=["default"]).total == 2
    for foreign in (["other"], []):
        assert searches.search("quick", limit=10, organizations=foreign).to_wire() == {"hits": [], "total": 0}


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "x" * 401}, "q"),
        ({"q": "x", "limit": 0}, "limit"),
        ({"q": "x", "limit": 201}, "limit"),
    ],
)
def test_search_without_words_or_without_bounds_is_refused(library: Desk, params: Json, field: str) -> None:
    refusal = library.get("/api/search", 400, **params)
    assert [problem["field"] for problem in refusal["fields"]] == [field]


def test_indexing_again_changes_nothing_and_unknown_crawls_are_refused(library: Desk) -> None:
    [crawl] = library.get("/api/crawls")["crawls"]
    assert _index(library, crawl["id"]) == {"indexed": 3, "pages": 3}
    assert _found(library, "煎茶") == {"/menu"}
    library.post("/api/crawls/c1/index", status=404)


def test_page_without_text_in_its_archive_is_read_from_its_html(desk: Desk) -> None:
    html = "<title>From the markup</title><p>hidden <b>trea</b>sure</p><script>secret()</script>"
    crawl_id = _capture(desk, {"/": ("", "")}, html=html)
    assert _index(desk, crawl_id) == {"indexed": 1, "pages": 1}
    assert _found(desk, "treasure") == {"/"}
    assert _found(desk, "secret") == set()


def test_archive_that_cannot_be_read_is_left_out_and_not_tried_for_ever(desk: Desk) -> None:
    crawl_id = _capture(desk, {"/a": ("t", "fine"), "/b": ("t", "broken")})
    broken = next(page for page in desk.get(f"/api/crawls/{crawl_id}/pages")["pages"] if page["url"].endswith("/b"))
    file = Path(broken["artifacts"]["wacz"].removeprefix("file://"))
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    assert _index(desk, crawl_id) == {"indexed": 1, "pages": 2}
    file.write_bytes(whole)
    assert _index(desk, crawl_id) == {"indexed": 1, "pages": 2}


def test_text_with_what_no_database_can_hold_is_indexed_without_it(desk: Desk) -> None:
    crawl_id = _capture(desk, {"/": ("nul \0 title", "be\0fore \ud83d after" + " many" * 60_000 + " beyond")})
    assert _index(desk, crawl_id) == {"indexed": 1, "pages": 1}
    assert _found(desk, "fore after") == {"/"}
    assert _found(desk, "beyond") == set()
    crawl_id = _capture(desk, {"/": ("", "".join(chr(0x4E00 + place * 7919 % 20_000) for place in range(200_000)))})
    assert _index(desk, crawl_id) == {"indexed": 1, "pages": 1}


def test_page_that_goes_takes_its_text_along(desk: Desk) -> None:
    crawl_id = _capture(desk, {"/": ("t", "vanishing")})
    _index(desk, crawl_id)
    assert _found(desk, "vanishing") == {"/"}

    def drop(tx: Tx) -> None:
        tx.connection().exec_driver_sql(f"DELETE FROM crawl WHERE id = '{crawl_id}'")

    with desk.parts.store.writing() as tx:
        drop(tx)
    assert _found(desk, "vanishing") == set()
    with desk.parts.store.reading() as tx:
        sought = "SELECT count(*) FROM page_text"
        assert tx.connection().exec_driver_sql(sought).scalar_one() == 0


def test_timer_indexes_what_nobody_asked_for(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, catch_up_every_s=0.05) as desk:
        _capture(desk, {"/": ("t", "forgotten words")})
        wait_until(lambda: _found(desk, "forgotten"), "the page indexed by the timer")
