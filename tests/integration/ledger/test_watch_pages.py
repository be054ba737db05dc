"""Watched pages and their lists, as people keep them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Json, ledger_at
from tests.integration.ledger.watching import OFFERS, SITE, SOON_S, StoppedClock, Watch, changed, content


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = StoppedClock()
    canaries = {
        "fast": {"fixedIntervalMs": 60_000, "maskDigits": True},
        "patient": {"visit": {"firstByteMs": 60_000, "learnFetches": False}},
    }
    settings: dict[str, Any] = {"watch_visits_per_s": 1000, "watch_canaries": canaries}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, **settings) as desk:
        yield Watch(desk, clock)


def test_one_url_that_cannot_be_watched_adds_none_and_is_named(watch: Watch) -> None:
    bad = [{"url": f"{SITE}/a"}, {"url": "ftp://x/"}, {"url": f"{SITE}/b", "settings": {"ignore": ["ok", "("]}}]
    refusal = watch.desk.post("/api/watch/pages", {"pages": bad}, 400)
    assert [one["field"] for one in refusal["fields"]] == ["pages.1.url", "pages.2.settings.ignore.1"]
    unknown = [{"url": f"{SITE}/a", "lists": ["a0000000000000000"]}]
    refusal = watch.desk.post("/api/watch/pages", {"pages": unknown}, 400)
    assert refusal["fields"][0]["field"] == "pages.0.lists.0"
    wrong = [{"url": f"{SITE}/a", "settings": {"watched": {"kind": "selector"}}}]
    refusal = watch.desk.post("/api/watch/pages", {"pages": wrong}, 400)
    assert refusal["fields"][0]["field"] == "pages.0.settings.watched.selector"
    assert watch.desk.get("/api/watch/pages")["pages"] == []
    assert watch.counts() == (0, 0, 0)


OFFER = {"kind": "extractor", "id": "offers", "version": 1}
CANNOT_WORK = [
    ({"watched": {"kind": "selector", "selector": "a[["}}, "watched.selector", "is no CSS selector"),
    ({"ignore": ["ok", "(["]}, "ignore.1", "is not RE2"),
    ({"ignore": ["\\C"]}, "ignore.0", "write . instead"),
    ({"ignore": ["((a{100}){100}){10}"]}, "ignore.0", ""),
    ({"watched": {**OFFER, "id": "other"}}, "watched.id", "there is no extractor 'other'"),
    ({"watched": {**OFFER, "version": 2}}, "watched.version", "it has 1"),
    ({"watched": {**OFFER, "fields": ["name", "colour"]}}, "watched.fields.1", "it has name, price"),
]
WORK: list[Json] = [
    {"watched": {"kind": "selector", "selector": "a[href] > b:nth-child(2)"}},
    {"ignore": ["^Today", "[0-9]+ visitors"]},
    {"watched": {**OFFER, "fields": ["price"]}},
    {"watched": OFFER},
]


def test_settings_that_cannot_work_are_refused_wherever_they_come_in_and_nothing_is_written(watch: Watch) -> None:
    watch.desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    kept = watch.add(f"{SITE}/kept")[0]
    before = watch.page(kept)
    good = {"url": f"{SITE}/good"}
    for settings, field, words in CANNOT_WORK:
        pages = [good, {"url": f"{SITE}/bad", "settings": settings}]
        for path in ("/api/watch/pages", "/api/watch/moving/pages"):
            [problem] = watch.desk.post(path, {"pages": pages}, 400)["fields"]
            assert problem["field"] == f"pages.1.settings.{field}", path
            assert words in problem["message"]
        [problem] = watch.change(kept, 400, title="new", settings=settings)["fields"]
        assert problem["field"] == f"settings.{field}"
    assert watch.desk.get("/api/watch/pages")["pages"] == [before]
    pages = [{"url": f"{SITE}/bad/{place}", "settings": one[0]} for place, one in enumerate(CANNOT_WORK)]
    refusal = watch.desk.post("/api/watch/pages", {"pages": pages}, 400)
    assert [one["field"] for one in refusal["fields"]] == [
        f"pages.{place}.settings.{one[1]}" for place, one in enumerate(CANNOT_WORK)
    ]


def test_settings_that_work_are_taken_wherever_they_come_in(watch: Watch) -> None:
    watch.desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    kept = watch.add(f"{SITE}/kept")[0]
    for place, settings in enumerate(WORK):
        for kind, path, status in (("add", "/api/watch/pages", 201), ("move", "/api/watch/moving/pages", 200)):
            pages = [{"url": f"{SITE}/{kind}/{place}", "settings": settings}]
            [ident] = watch.desk.post(path, {"pages": pages}, status)["pageIds"]
            assert settings.items() <= _without_defaults(watch.page(ident)["settings"]).items()
        assert settings.items() <= _without_defaults(watch.change(kept, settings=settings)["settings"]).items()


def test_page_whose_extractor_is_removed_later_can_still_be_changed_otherwise(watch: Watch) -> None:
    watch.desk.post("/api/extractors", {"id": "offers", "source": OFFERS}, 201)
    page_id = watch.add(f"{SITE}/a", settings={"watched": OFFER})[0]
    watch.desk._checked(watch.desk.client.delete("/api/extractors/offers"), 204)
    assert watch.change(page_id, paused=True)["paused"]
    refusal = watch.change(page_id, 400, settings={"watched": OFFER})
    assert refusal["fields"][0]["field"] == "settings.watched.id"


def test_page_says_where_it_is_watched_whole_for_want_of_main_content(watch: Watch) -> None:
    one, two = watch.add("http://127.0.0.3/", "http://127.0.0.4/")
    watch.wait(1)
    bases = {one: "basis 1:whole:main", two: "basis 1:main:"}
    for job in watch.claim():
        watch.done(job, "first", content=content("x"), volatileLines=[bases[job["pageId"]]])
    assert [watch.page(page)["wholeInstead"] for page in (one, two)] == [True, False]
    assert not watch.change(one, settings={"watched": {"kind": "whole"}})["wholeInstead"]


def _without_defaults(settings: Json) -> Json:
    watched = {name: value for name, value in settings["watched"].items() if value != []}
    return {**settings, "watched": watched}


def test_url_that_is_watched_already_joins_lists_and_stays_as_it_is(watch: Watch) -> None:
    ident = watch.desk.post("/api/watch/lists", {"name": "antenna"}, 201)["listId"]
    first = watch.add(f"{SITE}/a", title="mine", labels=["one"])
    pages = [{"url": f"{SITE}/a#top", "title": "other", "labels": ["two"], "lists": [ident]}, {"url": f"{SITE}/b"}]
    answer = watch.desk.post("/api/watch/pages", {"pages": pages}, 201)
    assert (answer["pageIds"][0], answer["added"]) == (first[0], 1)
    page = watch.page(first[0])
    assert (page["title"], page["labels"], page["lists"]) == ("mine", ["one", "two"], [ident])
    assert sum(watch.counts()) == 2


def test_pages_are_read_on_by_where_the_last_answer_ended(watch: Watch) -> None:
    pages = watch.add(*(f"{SITE}/{number}" for number in range(5)), labels=["x"])
    watch.add(f"{SITE}/other")
    first = watch.desk.get("/api/watch/pages", limit=2, label="x")
    rest = watch.desk.get("/api/watch/pages", limit=4, label="x", after=first["next"])
    assert [page["pageId"] for page in first["pages"] + rest["pages"]] == pages
    assert rest["next"] is None
    assert [page["url"] for page in watch.desk.get("/api/watch/pages", url=f"{SITE}/3")["pages"]] == [f"{SITE}/3"]
    assert watch.desk.get("/api/watch/pages", 400, after="x")["fields"][0]["field"] == "after"


def test_list_shows_the_newest_update_first_and_what_never_changed_last(watch: Watch) -> None:
    ident = watch.desk.post("/api/watch/lists", {"name": "antenna"}, 201)["listId"]
    urls = [f"http://127.0.0.{number}/" for number in range(2, 6)]
    pages = watch.add(*urls, lists=[ident])
    watch.wait(1)
    for job in watch.claim():
        watch.done(job, "first", content=content("old"))
    for place in (2, 0):
        watch.wait(SOON_S)
        for job in watch.claim():
            news = changed("old", "new") if job["pageId"] == pages[place] else {}
            watch.done(job, "changed" if news else "unchanged", **news)
    assert watch.desk.get(f"/api/watch/lists/{ident}/pages")["watchList"]["pages"] == 4
    seen, after = [], None
    while True:
        part = watch.desk.get(f"/api/watch/lists/{ident}/pages", limit=1, **({"after": after} if after else {}))
        seen += [page["pageId"] for page in part["pages"]]
        after = part["next"]
        if after is None:
            break
    assert seen == [pages[0], pages[2], pages[3], pages[1]]
    fresh = watch.desk.get(f"/api/watch/lists/{ident}/freshness")
    assert (fresh["pages"], fresh["never"], fresh["late"], fresh["visitedWithinHour"]) == (4, 0, 0, 4)
    watch.wait(2 * SOON_S)
    fresh = watch.desk.get(f"/api/watch/lists/{ident}/freshness")
    assert (fresh["late"], fresh["visitedWithinDay"]) == (4, 0)
    assert fresh["oldestLateMs"] > 0


def test_pages_enter_and_leave_lists_and_a_list_goes_without_its_pages(watch: Watch) -> None:
    ident = watch.desk.post("/api/watch/lists", {"name": "antenna"}, 201)["listId"]
    one, two = watch.add(f"{SITE}/a", f"{SITE}/b")
    path = f"/api/watch/lists/{ident}"
    assert watch.desk.client.patch(path, json={"name": "new", "add": [one, two]}).json()["pages"] == 2
    refusal = watch.desk.client.patch(path, json={"add": ["w999999"]})
    assert (refusal.status_code, refusal.json()["fields"][0]["field"]) == (400, "add.0")
    assert watch.desk.client.patch(path, json={"remove": [one]}).json()["pages"] == 1
    watch.change(one, lists=[ident])
    watch.remove(two)
    assert [found["pages"] for found in watch.desk.get("/api/watch/lists")["lists"]] == [1]
    assert watch.desk.client.delete(path).status_code == 204
    assert watch.page(one)["lists"] == []


def test_what_is_watched_decides_whether_the_content_still_holds(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    watch.done(watch.only(), "first", content=content("x"), etag='"1"')
    watch.change(page_id, settings={"maskDigits": True})
    assert watch.page(page_id)["contentSha256"] is not None
    watch.change(page_id, settings={"watched": {"kind": "whole"}})
    assert watch.page(page_id)["contentSha256"] is None
    watch.desk.get(f"/api/watch/pages/{page_id}/content", 404)
    assert list((watch.desk.root / "watch").rglob("*.json.gz")) == []
    watch.wait(6)
    assert watch.only()["state"]["etag"] is None
    refusal = watch.change(page_id, 400, settings={"fixedIntervalMs": 60_000, "maxIntervalMs": 60_000})
    assert "fixedIntervalMs" in refusal["error"]
    watch.add(f"{SITE}/b")
    watch.change(page_id, 409, url=f"{SITE}/b")


def test_fixed_interval_and_bounds_hold_whatever_was_learnt(watch: Watch) -> None:
    fixed = watch.add("http://127.0.0.3/", settings={"fixedIntervalMs": 3_600_000})[0]
    bound = watch.add("http://127.0.0.4/", settings={"minIntervalMs": 7_200_000, "maxIntervalMs": 7_300_000})[0]
    watch.wait(1)
    for job in watch.claim():
        watch.done(job, "first", content=content("old"))
    watch.wait(7_400)
    for job in watch.claim():
        watch.done(job, "changed", **changed("old", "new"))
    assert "every" in watch.page(fixed)["next"]["because"]
    watch.wait(3_500)
    assert watch.claim() == []
    watch.wait(200)
    assert [job["pageId"] for job in watch.claim()] == [fixed]
    watch.wait(3_700)
    assert bound in [job["pageId"] for job in watch.claim()]


def test_canary_lays_its_settings_over_the_pages_own(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a", settings={"canary": "fast", "minIntervalMs": 86_400_000})[0]
    job = watch.only()
    assert (job["settings"]["fixedIntervalMs"], job["settings"]["maskDigits"]) == (60_000, True)
    assert job["settings"]["minIntervalMs"] is None
    assert watch.page(page_id)["settings"]["minIntervalMs"] == 86_400_000
    watch.done(job, "first", content=content("x"))
    watch.wait(61)
    assert watch.only()["pageId"] == page_id


def test_what_a_canary_is_visited_with_comes_with_the_claim(watch: Watch) -> None:
    pages = watch.add("http://127.0.0.3/", settings={"canary": "patient", "maskDigits": True})
    pages += watch.add("http://127.0.0.4/", settings={"canary": "fast"}) + watch.add("http://127.0.0.5/")
    watch.wait(1)
    jobs = {job["pageId"]: job for job in watch.claim()}
    visits = [
        {name: value for name, value in (jobs[page]["visit"] or {}).items() if value is not None} for page in pages
    ]
    assert visits == [{"firstByteMs": 60_000, "learnFetches": False}, {}, {}]
    assert jobs[pages[0]]["settings"]["maskDigits"] is True


def test_metrics_tell_how_the_queue_fares(watch: Watch) -> None:
    watch.add(f"{SITE}/a", f"{SITE}/b", "http://127.0.0.3/")
    watch.wait(120)
    text = watch.desk.client.get("/metrics").text
    assert 'comity_watch_late_pages{lane="visits"} 3.0' in text
    assert 'comity_watch_hosts{state="ready"} 2.0' in text
    watch.done(watch.claim(1)[0], "first", content=content("x"))
    jobs = watch.claim()
    text = watch.desk.client.get("/metrics").text
    assert f'comity_watch_in_progress{{lane="visits"}} {len(jobs)}.0' in text
    assert 'comity_watch_hosts{state="resting"} 1.0' in text
    assert 'comity_watch_pages{place="queued",version="2"}' in text
    assert 'comity_watch_reports_total{outcome="first"}' in text


def test_shorter_interval_holds_at_once_and_a_longer_one_from_the_next_visit_on(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a", settings={"fixedIntervalMs": 30 * 86_400_000})[0]
    watch.done(watch.only(), "first", content=content("x"))
    watch.wait(601)
    watch.done(watch.only(), "unchanged")
    watch.wait(3_600)
    assert watch.claim() == []
    due_at = watch.page(page_id)["next"]["dueAt"]
    watch.change(page_id, settings={"fixedIntervalMs": 60 * 86_400_000})
    assert watch.page(page_id)["next"]["dueAt"] == due_at
    watch.change(page_id, settings={"fixedIntervalMs": 7_200_000})
    assert watch.page(page_id)["next"]["because"] == "it is set to be visited every 2 h"
    assert watch.claim() == []
    watch.wait(3_700)
    assert watch.only()["pageId"] == page_id


def test_shorter_interval_hurries_no_page_whose_visit_failed(watch: Watch) -> None:
    page_id = watch.add(f"{SITE}/a")[0]
    watch.done(watch.only(), "skipped", visited=False)
    due_at = watch.page(page_id)["next"]["dueAt"]
    watch.change(page_id, settings={"fixedIntervalMs": 60_000})
    assert watch.page(page_id)["next"]["dueAt"] == due_at
