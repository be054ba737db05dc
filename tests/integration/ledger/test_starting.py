"""`POST /api/crawls`: what is refused by name, what is resolved and pinned."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from comity.contract.scripts import sha256_of
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at

SEED = "http://127.0.0.2/"
INLINE = {"name": "look", "phase": "behavior", "source": "const a: number = 1"}
FORMATS = {"png": False, "webp": False, "html": False, "links": False, "mhtml": False, "wacz": True}


def _order(**change: Any) -> Json:
    return {"seeds": [SEED], "scripts": [], **change}


BAD = [
    (_order(fromTargets={}), "fromTargets"),
    ({"scripts": []}, "seeds"),
    (_order(seeds=[]), "seeds"),
    (_order(seeds=[SEED, SEED, SEED, "ftp://127.0.0.2/"]), "seeds.3"),
    (_order(seeds=["example.org"]), "seeds.0"),
    (_order(seeds=["javascript:alert(1)"]), "seeds.0"),
    (_order(seeds=["http://127.0.0.2/a b"]), "seeds.0"),
    (_order(seeds=["http://u:p@127.0.0.2/"]), "seeds.0"),
    (_order(seeds=[7]), "seeds.0"),
    (_order(seeds="http://127.0.0.2/"), "seeds"),
    (_order(seed=[SEED]), "seed"),
    (_order(max_depth=1, nonsense=2), "nonsense"),
    (_order(scope="everywhere"), "scope"),
    (_order(include=["/a", "/b", "/c", "(d"]), "include.3"),
    (_order(exclude=["(?=ahead)"]), "exclude.0"),
    (_order(exclude=["(.{1000}x)"]), "exclude.0"),
    (_order(include=["x" * 1001]), "include.0"),
    (_order(include=[""]), "include.0"),
    (_order(include=["x"] * 101), "include"),
    (_order(include="/a"), "include"),
    (_order(sitemaps="yes"), "sitemaps"),
    (_order(maxDepth=-1), "maxDepth"),
    (_order(maxDepth=11), "maxDepth"),
    (_order(maxDepth="2"), "maxDepth"),
    (_order(maxDepth=1.5), "maxDepth"),
    (_order(maxPages=0), "maxPages"),
    (_order(maxPages=10_001), "maxPages"),
    (_order(perHostDelayMs=-1), "perHostDelayMs"),
    (_order(perHostDelayMs=600_001), "perHostDelayMs"),
    (_order(hostParallelism=0), "hostParallelism"),
    (_order(hostParallelism=33), "hostParallelism"),
    (_order(respectRobots="yes"), "respectRobots"),
    (_order(capture={"viewport": {"width": 0, "height": 5}}), "capture.viewport.width"),
    (_order(capture={"nothing": 1}), "capture.nothing"),
    (_order(capture={"url": SEED}), "capture.url"),
    (_order(capture={"loadWait": {"minMs": 5, "maxMs": 4, "quietMs": 1}}), "capture.loadWait"),
    (_order(capture={"formats": {**FORMATS, "png": True}}), "capture.formats.png"),
    (_order(capture={"formats": {"wacz": True}}), "capture.formats.png"),
    (_order(capture={"formats": {**FORMATS, "wacz": False}}), "capture.formats"),
    (_order(capture={"signing": True}), "capture.signing"),
    (_order(capture={"session": "shared"}), "capture.session"),
    (
        _order(capture={"storageValues": True, "formats": {**FORMATS, "wacz": False, "html": True}}),
        "capture.storageValues",
    ),
    (_order(scripts=["autoscroll"]), "scripts.0"),
    (_order(scripts=[INLINE, {"id": "autoscroll"}]), "scripts.1"),
    (_order(scripts=["inline-look"]), "scripts.0"),
    (_order(scripts=[{"id": "inline-look", "version": 1}]), "scripts.0"),
    (_order(scripts=[INLINE, INLINE]), "scripts.1"),
    (_order(scripts=[{**INLINE, "name": "x" * 58}]), "scripts.0.name"),
    (_order(scripts=[{**INLINE, "phase": "later"}]), "scripts.0.phase"),
    (_order(scripts=[{"name": "look", "phase": "preload"}]), "scripts.0.source"),
    (_order(scripts=[{"id": "a", "extra": 1}]), "scripts.0.extra"),
    (_order(scripts=[7]), "scripts.0"),
    (_order(scripts=[{**INLINE, "source": "x" * (1024 * 1024 + 1)}]), "scripts"),
    (_order(scripts=[{**INLINE, "source": "a\u0000b"}]), "scripts.0.source"),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("body", "field"), BAD)
def test_bad_input_is_refused_by_its_field_and_starts_nothing(shared_desk: Desk, body: Json, field: str) -> None:
    refusal = shared_desk.post("/api/crawls", body, 400)
    assert field in [problem["field"] for problem in refusal["fields"]], refusal
    assert all(problem["message"] for problem in refusal["fields"])
    assert refusal["error"]
    assert shared_desk.get("/api/crawls")["crawls"] == []


@pytest.mark.one_database
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"seeds": ["\\ud800"]}', '{"maxPages": NaN}', "[" * 5000])
def test_body_that_is_no_order_is_refused(shared_desk: Desk, text: str) -> None:
    answer = shared_desk.client.post("/api/crawls", content=text)
    assert answer.status_code == 400
    assert answer.json()["fields"]


def test_bad_pattern_is_refused_in_the_words_of_re2(shared_desk: Desk) -> None:
    refusal = shared_desk.post("/api/crawls", _order(include=["/a", "[z-a]"]), 400)
    assert refusal["fields"] == [{"field": "include.1", "message": "invalid character class range: z-a"}]


def test_both_and_neither_source_of_seeds_are_two_different_refusals(shared_desk: Desk) -> None:
    both = shared_desk.post("/api/crawls", _order(fromTargets={"limit": 1}), 400)
    neither = shared_desk.post("/api/crawls", {}, 400)
    assert both["error"] != neither["error"]


@pytest.mark.parametrize(
    "change",
    [
        {"maxDepth": 0, "maxPages": 1, "perHostDelayMs": 0, "hostParallelism": 1},
        {"maxDepth": 10, "maxPages": 10_000, "perHostDelayMs": 600_000, "hostParallelism": 32},
        {"scope": "prefix", "respectRobots": False},
        {"scope": "same-domain", "include": ["x" * 1000] * 100, "exclude": ["x"] * 100},
        {"scripts": [{**INLINE, "name": "x" * 57}]},
        {"scripts": [{**INLINE, "source": "x" * (1024 * 1024)}]},
        {"capture": {"viewport": {"width": 1, "height": 16_384}, "formats": {**FORMATS, "links": True}}},
    ],
)
def test_limits_themselves_are_allowed(desk: Desk, change: Json) -> None:
    desk.post("/api/crawls", _order(**change), 202)


def test_format_that_is_allowed_is_made_where_it_was_chosen_and_only_there(
    tmp_path: Path, prefect: FakePrefect
) -> None:
    allowed = ("wacz", "html", "png")
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, allowed_formats=allowed) as desk:
        refusal = desk.post("/api/crawls", _order(capture={"formats": {**FORMATS, "webp": True}}), 400)
        [problem] = refusal["fields"]
        assert problem["field"] == "capture.formats.webp"
        assert problem["message"].endswith("wacz, html, png, links")
        chosen = desk.start(SEED, capture={"formats": {**FORMATS, "png": True}}, maxDepth=0)
        assert desk.order(chosen)["capture"]["formats"] == {**FORMATS, "png": True}
        desk.post(f"/api/crawls/{chosen}/cancel")
        by_default = desk.start(SEED, maxDepth=0)
        assert desk.order(by_default)["capture"]["formats"] == {**FORMATS, "html": True}


def test_policy_is_resolved_and_shown(desk: Desk) -> None:
    crawl_id = desk.start(SEED, capture={"viewport": {"width": 800, "height": 600}, "acceptLanguage": "ja"})
    view = desk.crawl(crawl_id)
    assert view["policy"] == {
        "scope": "same-origin",
        "maxDepth": 2,
        "maxPages": 30,
        "perHostDelayMs": 2000,
        "hostParallelism": 4,
        "respectRobots": True,
        "include": [],
        "exclude": [],
        "sitemaps": False,
        "maxBytes": None,
        "capture": {
            "viewport": {"width": 800, "height": 600},
            "acceptLanguage": "ja",
            "formats": {**FORMATS, "html": True},
            "signing": False,
        },
    }
    order = desk.order(crawl_id)
    assert order["capture"]["viewport"] == {"width": 800, "height": 600}
    assert order["capture"]["acceptLanguage"] == "ja"
    assert order["capture"]["formats"] == {**FORMATS, "html": True, "links": True}
    assert (order["perHostDelayMs"], order["maxHostDelayMs"], order["artifactSink"]) == (2000, 600_000, None)


def test_seeds_enter_once_each_without_fragment_and_within_the_budget(desk: Desk) -> None:
    crawl_id = desk.start(SEED, SEED + "#x", SEED + "b", SEED + "c", maxPages=2, maxDepth=0)
    assert [page["url"] for page in desk.order(crawl_id)["frontier"]] == [SEED, SEED + "b"]
    assert desk.do_level(crawl_id)["stopReason"] == "max_pages"


def test_second_crawl_is_refused_and_names_the_first(desk: Desk) -> None:
    crawl_id = desk.start(SEED)
    refusal = desk.post("/api/crawls", _order(), 409)
    assert (refusal["crawlId"], refusal["code"]) == (crawl_id, "crawl-in-the-way")
    assert refusal["startedAt"] == desk.crawl(crawl_id)["startedAt"]


def test_two_starts_at_once_give_one_crawl(desk: Desk) -> None:
    def start(_: int) -> int:
        return desk.client.post("/api/crawls", json=_order()).status_code

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(start, range(8)))
    assert answers == [202] + [409] * 7
    assert len(desk.get("/api/crawls")["crawls"]) == 1


def test_more_slots_let_as_many_run(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, max_running_crawls=2) as desk:
        first, second = desk.start(SEED), desk.start(SEED)
        assert desk.post("/api/crawls", _order(), 409)["crawlId"] == first
        desk.post(f"/api/crawls/{second}/cancel")
        desk.start(SEED)


def test_idempotency_key_repeats_the_answer_even_after_the_crawl(desk: Desk) -> None:
    key = {"Idempotency-Key": "run-1"}
    first = desk.post("/api/crawls", _order(), 202, **key)
    assert desk.post("/api/crawls", _order(scope="same-origin"), 202, **key) == first
    refusal = desk.post("/api/crawls", _order(maxPages=3), 422, **key)
    assert "Idempotency-Key" in refusal["error"]
    assert refusal["code"] == "key-reused"
    desk.post(f"/api/crawls/{first['crawlId']}/cancel")
    assert desk.post("/api/crawls", _order(), 202, **key) == first
    assert desk.post("/api/crawls", _order(), 202, **{"Idempotency-Key": "run-2"}) != first


def test_same_key_at_once_gives_one_crawl(desk: Desk) -> None:
    def start(_: int) -> str:
        answer = desk.client.post("/api/crawls", json=_order(), headers={"Idempotency-Key": "k"})
        assert answer.status_code == 202, answer.text
        crawl_id: str = answer.json()["crawlId"]
        return crawl_id

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(start, range(6)))) == 1


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_unusable_idempotency_key_is_refused(desk: Desk, key: str) -> None:
    refusal = desk.post("/api/crawls", _order(), 400, **{"Idempotency-Key": key})
    assert refusal["fields"][0]["field"] == "Idempotency-Key"


def test_targets_are_the_seeds_whole_and_without_wandering(desk: Desk) -> None:
    refusal = desk.post("/api/crawls", {"fromTargets": {}}, 409)
    assert refusal["code"] == "no-enabled-target"
    assert "crawlId" not in refusal
    urls = [f"{SEED}{number}" for number in range(40)]
    targets = desk.post("/api/targets", {"urls": urls}, 201)["targets"]
    desk.client.patch(f"/api/targets/{targets[0]['id']}", json={"enabled": False})
    crawl_id = desk.post("/api/crawls", {"fromTargets": {}, "scripts": []}, 202)["crawlId"]
    view = desk.crawl(crawl_id)
    assert (view["policy"]["maxPages"], view["policy"]["maxDepth"]) == (39, 0)
    assert view["seeds"] == urls[1:]
    assert view["counts"]["pending"] == 39
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    limited = desk.post("/api/crawls", {"fromTargets": {"limit": 2}, "maxDepth": 1}, 202)["crawlId"]
    assert desk.crawl(limited)["seeds"] == urls[1:3]


def test_scripts_are_pinned_with_their_source(desk: Desk) -> None:
    for ident, source in (("zeta", "1"), ("alpha", "2"), ("beta", "3")):
        desk.post("/api/scripts", {"id": ident, "phase": "behavior", "source": source, "options": {"a": 1}}, 201)
    desk.post("/api/scripts", {"id": "alpha", "phase": "preload", "source": "22"}, 201)
    desk.client.patch("/api/scripts/beta", json={"enabled": False})
    crawl_id = desk.post("/api/crawls", {"seeds": [SEED]}, 202)["crawlId"]
    desk.post("/api/scripts", {"id": "alpha", "phase": "behavior", "source": "222"}, 201)
    desk.client.delete("/api/scripts/zeta")
    scripts = desk.order(crawl_id)["scripts"]
    assert [(script["id"], script["version"], script["phase"], script["source"]) for script in scripts] == [
        ("alpha", 2, "preload", "22"),
        ("zeta", 1, "behavior", "1"),
    ]
    assert scripts[0]["sha256"] == sha256_of("22")
    assert [script["id"] for script in desk.crawl(crawl_id)["scripts"]] == ["alpha", "zeta"]


def test_scripts_that_are_named_run_in_that_order_with_their_options(desk: Desk) -> None:
    for source in ("1", "2"):
        desk.post("/api/scripts", {"id": "alpha", "phase": "behavior", "source": source, "options": {"a": 1}}, 201)
    choice = [INLINE, {"id": "alpha", "version": 1, "options": {"b": 2}}]
    crawl_id = desk.post("/api/crawls", _order(scripts=choice), 202)["crawlId"]
    scripts = desk.order(crawl_id)["scripts"]
    assert [(script["id"], script["version"], script["options"]) for script in scripts] == [
        ("inline-look", 1, None),
        ("alpha", 1, {"b": 2}),
    ]
    assert scripts[0]["sha256"] == sha256_of(str(INLINE["source"]))
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    refusal = desk.post("/api/crawls", _order(scripts=[{"id": "alpha", "version": 3}]), 400)
    assert "no version 3" in refusal["error"]
    desk.post("/api/crawls", _order(scripts=["alpha"]), 202)


def test_signing_where_the_deployment_signs(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, signing=True, formats="wacz,png") as desk:
        no_wacz = {**FORMATS, "wacz": False, "png": True}
        refusal = desk.post("/api/crawls", _order(capture={"signing": True, "formats": no_wacz}), 400)
        assert refusal["fields"][0]["field"] == "capture.signing"
        for capture, signing in (({}, True), ({"signing": False}, False), ({"formats": no_wacz}, False)):
            crawl_id = desk.start(SEED, capture=capture)
            assert desk.order(crawl_id)["capture"]["signing"] is signing
            desk.post(f"/api/crawls/{crawl_id}/cancel")


def test_session_is_shared_for_the_one_organisation_alone(tmp_path: Path, prefect: FakePrefect) -> None:
    shared = _order(capture={"session": "shared", "storageValues": True})
    with ledger_at(tmp_path / "a", tmp_path / "store", prefect, shared_session_organization="elsewhere") as desk:
        refusal = desk.post("/api/crawls", shared, 400)
        assert [problem["field"] for problem in refusal["fields"]] == ["capture.session"]
    with ledger_at(tmp_path / "b", tmp_path / "store", prefect, shared_session_organization="default") as desk:
        crawl_id = desk.post("/api/crawls", shared, 202)["crawlId"]
        capture = desk.order(crawl_id)["capture"]
        assert (capture["session"], capture["storageValues"]) == ("shared", True)
