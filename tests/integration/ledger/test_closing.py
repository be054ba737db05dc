"""`POST …/pages`: closing a level, and what comes next."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.ledger.desk import Desk, Json

SITE = "http://127.0.0.2:8000"
SCRIPT = {"name": "look", "phase": "behavior", "source": "1"}


def _compiled(sha256: str = "a" * 64, **change: Any) -> Json:
    script = {"id": "inline-look", "version": 1, "sha256": sha256, **change}
    return {"typescript": "7.0", "hostTypes": "1", "scripts": [script]}


def _capture_all(desk: Desk, crawl_id: str, depth: int = 0, links: list[Any] | None = None) -> None:
    pages = desk.order(crawl_id, depth)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, page, links) for page in pages], depth)


def test_closing_needs_an_outcome_for_every_page(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0])])
    refusal = desk.close(crawl_id, status=409)
    assert (refusal["code"], refusal["missing"]) == ("outcomes-missing", [pages[1]["pageId"]])
    assert desk.crawl(crawl_id)["state"] == "running"
    closed = desk.close(crawl_id, results=[desk.captured(crawl_id, page) for page in pages])
    assert closed == {"next": [], "stopReason": "completed"}


def test_repeat_gets_the_stored_answer_whoever_asks(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    _capture_all(desk, crawl_id, links=[f"{SITE}/a"])
    fence = desk.fence(crawl_id)
    first = desk.close(crawl_id)
    assert len(first["next"]) == 1
    again = {"results": [], "compiled": {"typescript": "x", "hostTypes": "y", "scripts": []}}
    assert desk.post(f"/api/crawls/{crawl_id}/pages", {**fence, **again}) == first
    assert desk.post(f"/api/crawls/{crawl_id}/pages", {**fence, **again, "runId": "other"}) == first
    assert desk.crawl(crawl_id)["counts"]["pending"] == 1
    last = desk.do_level(crawl_id, 1)
    assert desk.close(crawl_id, 1) == last
    assert desk.post(f"/api/crawls/{crawl_id}/pages", {**fence, **again}) == first


def test_two_closings_at_once_get_one_answer(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, maxPages=200)
    _capture_all(desk, crawl_id, links=[f"{SITE}/{number}" for number in range(100)])
    body = {
        **desk.fence(crawl_id),
        "results": [],
        "compiled": {"typescript": "7.0", "hostTypes": "1", "scripts": []},
    }

    def close(_: int) -> Json:
        return desk.post(f"/api/crawls/{crawl_id}/pages", body)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(close, range(6)))
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0]["next"]) == 100
    assert desk.crawl(crawl_id)["counts"] == {"pending": 100, "captured": 1, "failed": 0, "skipped": 0}
    desk.run_id(crawl_id, 1)
    assert len(desk.prefect.runs) == 2


def test_stale_run_cannot_close(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    _capture_all(desk, crawl_id)
    nothing = {"results": [], "compiled": {"typescript": "7.0", "hostTypes": "1", "scripts": []}}
    for fence in ({"runId": "other"}, {"attempt": 2}, {"depth": 1}):
        body = {**desk.fence(crawl_id), **nothing, **fence}
        assert "missing" not in desk.post(f"/api/crawls/{crawl_id}/pages", body, 409)
    assert desk.close(crawl_id)["stopReason"] == "completed"


def test_frontier_keeps_page_and_document_order(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=1)
    pages = desk.order(crawl_id)["frontier"]
    late_first = [
        desk.captured(crawl_id, pages[1], [f"{SITE}/4", f"{SITE}/1", f"{SITE}/3"]),
        desk.captured(crawl_id, pages[0], [f"{SITE}/2", f"{SITE}/1", f"{SITE}/b", f"{SITE}/2#x"]),
    ]
    for result in late_first:
        desk.report(crawl_id, [result])
    answer = desk.close(crawl_id)
    assert [page["url"] for page in answer["next"]] == [f"{SITE}/{name}" for name in ("2", "1", "4", "3")]
    assert [page["url"] for page in desk.order(crawl_id, 1)["frontier"]] == [page["url"] for page in answer["next"]]


def test_links_are_judged_by_scheme_rel_and_scope(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/dir/", maxDepth=1)
    links = [
        {"href": f"{SITE}/no", "rel": "NoFollow noopener"},
        {"href": f"{SITE}/yes", "rel": "noopener"},
        f"{SITE}/no",
        "https://127.0.0.2:8000/other-scheme",
        "http://127.0.0.2/other-port",
        "http://127.0.0.3:8000/other-host",
        "javascript:void(0)",
        "relative",
        "http://[broken",
    ]
    _capture_all(desk, crawl_id, links=links)
    urls = [page["url"] for page in desk.close(crawl_id)["next"]]
    assert urls == [f"{SITE}/yes", f"{SITE}/no", f"{SITE}/dir/relative"]


@pytest.mark.parametrize(
    ("scope", "followed"),
    [
        ("same-origin", ["/docs/x", "/y"]),
        ("same-host", ["/docs/x", "/y", "http://127.0.0.2:9/z"]),
        ("same-domain", ["/docs/x", "/y", "http://127.0.0.2:9/z"]),
        ("prefix", ["/docs/x"]),
    ],
)
def test_scope_decides_what_is_followed(desk: Desk, scope: str, followed: list[str]) -> None:
    crawl_id = desk.start(f"{SITE}/docs/", maxDepth=1, scope=scope)
    _capture_all(desk, crawl_id, links=[f"{SITE}/docs/x", f"{SITE}/y", "http://127.0.0.2:9/z", "http://127.0.0.3/"])
    urls = [page["url"] for page in desk.close(crawl_id)["next"]]
    assert urls == [url if url.startswith("http") else SITE + url for url in followed]


def test_same_domain_reaches_every_host_below_the_registered_one(desk: Desk) -> None:
    crawl_id = desk.start("http://www.a.co.uk/", maxDepth=1, scope="same-domain")
    _capture_all(desk, crawl_id, links=["https://shop.a.co.uk/x", "http://b.co.uk/", "http://a.co.uk:81/y"])
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == ["https://shop.a.co.uk/x", "http://a.co.uk:81/y"]


@pytest.mark.parametrize(
    ("include", "exclude", "followed"),
    [
        ([], [], ["/a", "/a?print=1", "/b/a", "/c"]),
        (["/a"], [], ["/a", "/a?print=1", "/b/a"]),
        (["^http://127[.]0[.]0[.]2:8000/a", "/c$"], [], ["/a", "/a?print=1", "/c"]),
        ([], ["[?]print="], ["/a", "/b/a", "/c"]),
        (["/a"], ["[?]print=", "^http://[^/]*/b/"], ["/a"]),
        (["/never"], [], []),
    ],
)
def test_patterns_choose_among_links_in_scope_and_seeds_are_taken_anyway(
    desk: Desk, include: list[str], exclude: list[str], followed: list[str]
) -> None:
    crawl_id = desk.start(f"{SITE}/seed", maxDepth=1, include=include, exclude=[*exclude, "/seed$"])
    links = [f"{SITE}/a", f"{SITE}/a?print=1#x", f"{SITE}/b/a", f"{SITE}/c", "http://127.0.0.3/a"]
    _capture_all(desk, crawl_id, links=links)
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == [SITE + path for path in followed]
    assert desk.crawl(crawl_id)["policy"]["include"] == include
    assert desk.crawl(crawl_id)["counts"]["captured"] == 1


@pytest.mark.parametrize(
    ("robots", "respect", "followed"),
    [
        ([{"source": "meta", "name": "robots", "value": "nofollow"}], True, []),
        ([{"source": "header", "value": "comity: none"}], True, []),
        ([{"source": "header", "value": "otherbot: none"}], True, [f"{SITE}/a"]),
        ([{"source": "meta", "name": "robots", "value": "nofollow"}], False, [f"{SITE}/a"]),
        ([], True, [f"{SITE}/a"]),
        (None, True, [f"{SITE}/a"]),
    ],
)
def test_page_that_says_nofollow_is_kept_and_leads_nowhere(
    desk: Desk, robots: list[Json] | None, respect: bool, followed: list[str]
) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1, respectRobots=respect)
    [page] = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, page, [f"{SITE}/a"], robots=robots)])
    assert [one["url"] for one in desk.close(crawl_id)["next"]] == followed
    assert desk.crawl(crawl_id)["counts"]["captured"] == 1


def test_seed_that_redirects_moves_the_scope_and_a_later_redirect_does_not(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=2)
    [seed] = desk.order(crawl_id)["frontier"]
    links = ["http://127.0.0.3/a", f"{SITE}/left-behind"]
    desk.report(crawl_id, [desk.captured(crawl_id, seed, links, final_url="http://127.0.0.3/home")])
    assert [page["url"] for page in desk.close(crawl_id)["next"]] == ["http://127.0.0.3/a"]
    [page] = desk.order(crawl_id, 1)["frontier"]
    links = ["http://127.0.0.4/theirs", "http://127.0.0.3/ours"]
    desk.report(crawl_id, [desk.captured(crawl_id, page, links, final_url="http://127.0.0.4/out")], 1)
    assert [page["url"] for page in desk.close(crawl_id, 1)["next"]] == ["http://127.0.0.3/ours"]


def test_budget_counts_all_pages_and_the_first_limit_is_kept(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=2, maxPages=3)
    _capture_all(desk, crawl_id, links=[f"{SITE}/{number}" for number in range(5)])
    answer = desk.close(crawl_id)
    assert [page["url"] for page in answer["next"]] == [f"{SITE}/0", f"{SITE}/1"]
    assert answer["stopReason"] is None
    _capture_all(desk, crawl_id, 1, links=[f"{SITE}/more"])
    assert desk.close(crawl_id, 1) == {"next": [], "stopReason": "max_pages"}
    view = desk.crawl(crawl_id)
    assert (view["state"], view["stopReason"], view["counts"]["captured"]) == ("succeeded", "max_pages", 3)


def test_budget_that_just_fits_does_not_bite(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=2, maxPages=3)
    _capture_all(desk, crawl_id, links=[f"{SITE}/0", f"{SITE}/1", f"{SITE}/"])
    desk.close(crawl_id)
    _capture_all(desk, crawl_id, 1, links=[f"{SITE}/0"])
    assert desk.close(crawl_id, 1)["stopReason"] == "completed"


def test_crawl_that_captured_nothing_fails_and_counts(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages = desk.order(crawl_id)["frontier"]
    results = [
        {"pageId": pages[0]["pageId"], "url": pages[0]["url"], "status": "failed", "reason": "connection: refused"},
        {"pageId": pages[1]["pageId"], "url": pages[1]["url"], "status": "skipped", "skipReason": "robots"},
    ]
    assert desk.close(crawl_id, results=results) == {"next": [], "stopReason": "failed"}
    view = desk.crawl(crawl_id)
    assert view["state"] == "failed"
    assert view["error"] == "nothing was captured: of 2 pages 1 failed, 1 skipped"
    assert [(failure["state"], failure["reason"]) for failure in view["failures"]] == [
        ("failed", "connection: refused"),
        ("skipped", "robots"),
    ]
    desk.start(f"{SITE}/")


@pytest.mark.parametrize(
    ("compiled", "field"),
    [
        ({"typescript": "7.0", "hostTypes": "1", "scripts": []}, "compiled.scripts"),
        (_compiled(version=2), "compiled.scripts.0"),
        (_compiled(id="other"), "compiled.scripts.0"),
        (_compiled("A" * 64), "compiled.scripts.0.sha256"),
        (None, "compiled"),
    ],
)
def test_compiled_that_is_not_what_was_pinned_is_refused(desk: Desk, compiled: Json | None, field: str) -> None:
    crawl_id = desk.start(f"{SITE}/", scripts=[SCRIPT])
    _capture_all(desk, crawl_id)
    refusal = desk.close(crawl_id, status=400, compiled=compiled)
    assert refusal["fields"][0]["field"] == field
    assert desk.crawl(crawl_id)["state"] == "running"
    assert desk.close(crawl_id, compiled=_compiled())["stopReason"] == "completed"


def test_compiled_is_written_once_and_another_hash_later_conflicts(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", scripts=[SCRIPT], maxDepth=1)
    _capture_all(desk, crawl_id, links=[f"{SITE}/a"])
    desk.close(crawl_id, compiled=_compiled("a" * 64))
    assert desk.crawl(crawl_id)["compiled"] == _compiled("a" * 64)
    _capture_all(desk, crawl_id, 1)
    refusal = desk.close(crawl_id, 1, status=409, compiled=_compiled("b" * 64))
    assert "inline-look" in refusal["error"]
    assert desk.close(crawl_id, 1, compiled=_compiled("a" * 64))["stopReason"] == "max_depth"


def test_large_level_closes_in_good_time(desk: Desk) -> None:
    crawl_id = desk.start(*(f"{SITE}/{number}" for number in range(200)), maxDepth=1, maxPages=10_000)
    pages = desk.order(crawl_id)["frontier"]
    results = [
        desk.captured(crawl_id, page, [f"{SITE}/{place}/{number}" for number in range(60)])
        for place, page in enumerate(pages)
    ]
    desk.report(crawl_id, results)
    answer = desk.close(crawl_id)
    assert len(answer["next"]) == 9800
    assert answer["next"][-1]["url"] == f"{SITE}/163/19"
