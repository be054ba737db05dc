"""What a crawl extracts: pinned when it starts, asked of a flow run after each level, kept page by page."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.extractor_programs import program
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, wait_until
from tests.integration.ledger.extracting import add, bad, capture_level, dispatched, good, order, pin, report
from tests.integration.ledger.stored import into, store

SEEDS = ("http://127.0.0.2/news/1", "http://127.0.0.2/about")


def extractions(desk: Desk, crawl_id: str, **query: Any) -> list[Json]:
    found: list[Json] = desk.get(f"/api/crawls/{crawl_id}/extractions", **query)["extractions"]
    return found


def begun(desk: Desk, *pins: Json, seeds: tuple[str, ...] = SEEDS, **policy: object) -> tuple[str, str, list[Json]]:
    """A crawl whose first level is closed; its extraction's flow run, and the pages of its first order."""
    crawl_id = desk.start(*seeds, maxDepth=0, extractors=list(pins) or [pin()], **policy)
    capture_level(desk, crawl_id)
    run_id = dispatched(desk, crawl_id)
    return crawl_id, run_id, order(desk, crawl_id, run_id)["pages"]


def test_pages_are_matched_by_pattern_and_each_pair_gets_its_result(desk: Desk) -> None:
    add(desk)
    add(desk, "news")
    crawl_id, run_id, pages = begun(desk, pin(), pin("news", "/news/[0-9]+$"))
    assert [(page["url"], page["extractors"]) for page in pages] == [
        (SEEDS[0], ["facts", "news"]),
        (SEEDS[1], ["facts"]),
    ]
    state = desk.crawl(crawl_id)["extraction"]
    assert (state["state"], state["pending"]) == ("running", 3)

    warning = {"code": "W_FIELD_RECOVERED", "message": "no number", "path": "output.price"}
    told = report(
        desk,
        crawl_id,
        run_id,
        [good(pages[0]), good(pages[0], "news", partial=True, warnings=[warning]), bad(pages[1])],
    )
    assert told["stop"] is False
    assert order(desk, crawl_id, run_id)["pages"] == []

    rows = extractions(desk, crawl_id)
    assert [(row["url"], row["extractor"], row["state"]) for row in rows] == [
        (SEEDS[0], "facts", "extracted"),
        (SEEDS[0], "news", "extracted"),
        (SEEDS[1], "facts", "failed"),
    ]
    assert (rows[0]["value"], rows[0]["partial"], rows[0]["version"]) == ({"title": SEEDS[0]}, False, 1)
    assert (rows[1]["partial"], rows[1]["warnings"]) == (True, [warning])
    assert rows[2]["error"] == {"code": "E_TIMEOUT", "message": "not done after 10 s"}
    assert "value" not in rows[2]
    view = desk.crawl(crawl_id)
    assert view["state"] == "succeeded"
    assert [(one["id"], one["urlPattern"]) for one in view["extractors"]] == [("facts", "."), ("news", "/news/[0-9]+$")]
    assert {key: view["extraction"][key] for key in ("state", "pending", "extracted", "failed", "partial")} == {
        "state": "idle",
        "pending": 0,
        "extracted": 2,
        "failed": 1,
        "partial": 1,
    }


def test_a_page_is_matched_by_where_it_led_too(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(SEEDS[1], maxDepth=0, extractors=[pin(pattern="/moved$")])
    capture_level(desk, crawl_id, finalUrl="http://127.0.0.2/moved")
    [page] = order(desk, crawl_id, dispatched(desk, crawl_id))["pages"]
    assert page["url"] == "http://127.0.0.2/moved"


def test_crawl_pins_what_the_catalogue_had_and_its_program_outlives_it(desk: Desk) -> None:
    add(desk)
    add(desk, source=program("second"))
    crawl_id = desk.start(SEEDS[0], extractors=[pin(version=1)])
    desk.client.delete("/api/extractors/facts")
    [pinned] = desk.get(f"/api/crawls/{crawl_id}/extractors")["extractors"]
    assert (pinned["version"], pinned["name"], pinned["urlPattern"]) == (1, "facts", ".")
    assert json.loads(pinned["program"])["name"] == "facts"


@pytest.mark.parametrize(
    ("pins", "field", "words"),
    [
        ([pin("none")], "extractors.0.id", "'none'"),
        ([pin(), pin("facts", "x")], "extractors.1.id", "already"),
        ([pin(version=2)], "extractors.0.version", "newest is 1"),
        ([pin(pattern="(")], "extractors.0.urlPattern", ""),
        ([pin(pattern="")], "extractors.0.urlPattern", ""),
        ([{"id": "facts"}], "extractors.0.urlPattern", "missing"),
        ([pin(options={})], "extractors.0.options", ""),
    ],
)
def test_a_pin_that_cannot_be_is_refused_by_its_field(desk: Desk, pins: list[Json], field: str, words: str) -> None:
    add(desk)
    refusal = desk.post("/api/crawls", {"seeds": list(SEEDS), "extractors": pins}, 400)
    assert refusal["fields"][0]["field"] == field
    assert words in refusal["error"]
    assert desk.get("/api/crawls")["crawls"] == []


def test_html_is_asked_of_captures_where_something_is_extracted_and_read_through_the_ledger(desk: Desk) -> None:
    add(desk)
    formats = {"png": True, "webp": False, "html": False, "links": False, "mhtml": False, "wacz": False}
    desk.parts.starts._terms = type(desk.parts.starts._terms)(  # a deployment whose captures make pictures alone
        formats=("png",),
        allowed_formats=("png",),
        signing=False,
        shared_session_organization=None,
        max_running_crawls=2,
    )
    plain = desk.start(SEEDS[0], maxDepth=0, capture={"formats": formats})
    assert desk.order(plain)["capture"]["formats"]["html"] is False
    crawl_id = desk.start(SEEDS[1], maxDepth=0, capture={"formats": formats}, extractors=[pin()])
    assert desk.order(crawl_id)["capture"]["formats"]["html"] is True
    capture_level(desk, crawl_id)
    [page] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    path = f"/api/crawls/{crawl_id}/pages/{page['pageId']}/html"
    answer = desk.client.get(path)
    assert answer.text == f"<title>{SEEDS[1]}</title>"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert desk.client.get(path, headers={"Authorization": f"Bearer {desk.flows_token}"}, auth=None).status_code == 200
    foreign = {"subject": "x", "role": "admin", "organizations": ["elsewhere"], "expiresInDays": 1}
    token = desk.post("/api/tokens", foreign, 201)["token"]
    for hidden in (path, f"/api/crawls/{crawl_id}/extractions", f"/api/crawls/{crawl_id}/extractors"):
        assert desk.client.get(hidden, headers={"Authorization": f"Bearer {token}"}, auth=None).status_code == 404
    place = Path(page["artifacts"]["html"].removeprefix("file://"))
    place.unlink()
    assert desk.client.get(path).status_code == 409


def test_a_page_without_html_of_its_own_gets_its_code_at_once(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin()])
    first, second = desk.order(crawl_id)["frontier"]
    foreign = into(desk.root)("somebody_elses.html", b"secret")
    bare = store(into(desk.root), crawl_id, first)
    claimed = store(into(desk.root), crawl_id, second, artifacts={"html": foreign})
    desk.report(crawl_id, [bare.result, claimed.result])
    desk.close(crawl_id)
    assert [row["error"]["code"] for row in extractions(desk, crawl_id)] == ["E_PAGE_HTML_MISSING"] * 2
    assert desk.crawl(crawl_id)["extraction"]["state"] == "idle"
    page_id = second["pageId"]
    assert desk.client.get(f"/api/crawls/{crawl_id}/pages/{page_id}/html").status_code == 404


def test_results_told_twice_or_by_a_run_that_is_over_are_kept_once(desk: Desk) -> None:
    add(desk)
    crawl_id, run_id, pages = begun(desk)
    report(desk, crawl_id, run_id, [good(pages[0])])
    report(desk, crawl_id, run_id, [bad(pages[0])])
    before = extractions(desk, crawl_id)
    assert [row["state"] for row in before] == ["extracted"]
    told = report(desk, crawl_id, "another", [good(pages[1])])
    assert told["stop"] is True
    assert run_id in told["reason"]
    assert [row["state"] for row in extractions(desk, crawl_id)] == ["extracted", "extracted"]
    assert extractions(desk, crawl_id)[0] == before[0]
    order(desk, crawl_id, "another", status=409)
    assert order(desk, crawl_id, run_id)["pages"] == []
    order(desk, crawl_id, run_id, status=409)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pageId": "p0"}, "results.0"),
        ({"extractor": "none"}, "results.0"),
        ({"value": None}, "results.0"),
        ({"error": {"code": "E_X", "message": "both"}}, "results.0"),
        ({"value": {"a": "x" * (4 * 1024 * 1024)}}, "results.0.value"),
        ({"value": {"a": "\0"}}, "results.0.value.a"),
    ],
)
def test_a_result_that_cannot_be_is_refused_and_nothing_is_kept(desk: Desk, change: Json, field: str) -> None:
    add(desk)
    crawl_id, run_id, pages = begun(desk)
    refusal = report(desk, crawl_id, run_id, [{**good(pages[0]), **change}, good(pages[1])], status=400)
    assert refusal["fields"][0]["field"] == field
    assert extractions(desk, crawl_id) == []


def test_list_goes_on_by_cursor_and_all_of_it_comes_as_lines(desk: Desk) -> None:
    add(desk)
    seeds = tuple(f"http://127.0.0.2/{number}" for number in range(5))
    crawl_id, run_id, pages = begun(desk, seeds=seeds)
    report(
        desk,
        crawl_id,
        run_id,
        [bad(pages[0]), *(good(page, value={"t": "縁側", "n": 2**63 - 1}) for page in pages[1:])],
    )
    found: list[str] = []
    after: Json = {}
    while True:
        part = desk.get(f"/api/crawls/{crawl_id}/extractions", limit=2, **after)
        found += [row["url"] for row in part["extractions"]]
        if "next" not in part:
            break
        after = {"after": part["next"]}
    assert found == list(seeds)
    path = f"/api/crawls/{crawl_id}/extractions"
    for query, accept in (
        ("?format=jsonl", "*/*"),
        ("", "application/x-ndjson"),
        ("", "text/html, application/jsonl;q=1"),
    ):
        answer = desk.client.get(path + query, headers={"Accept": accept})
        assert answer.headers["content-type"].startswith("application/jsonl")
        assert [json.loads(line) for line in answer.text.splitlines()] == extractions(desk, crawl_id)
    answer = desk.client.get(path + "?format=json", headers={"Accept": "application/jsonl"})
    assert len(answer.json()["extractions"]) == 5
    assert [row["url"] for row in extractions(desk, crawl_id, state="failed")] == [seeds[0]]
    assert extractions(desk, crawl_id, extractor="none") == []
    assert extractions(desk, crawl_id)[1]["value"] == {"t": "縁側", "n": 2**63 - 1}
    assert desk.get(path, 400, after="nonsense")["fields"][0]["field"] == "after"
    desk.get("/api/crawls/c0/extractions", 404)


def test_each_level_adds_to_the_run_at_work_or_opens_the_next(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(SEEDS[0], maxDepth=2, extractors=[pin()])
    capture_level(desk, crawl_id, 0, links=["http://127.0.0.2/a"])
    first = dispatched(desk, crawl_id)
    [page] = order(desk, crawl_id, first)["pages"]
    report(desk, crawl_id, first, [good(page)])
    capture_level(desk, crawl_id, 1, links=["http://127.0.0.2/b"])
    assert desk.prefect.run_of(f"extract:{crawl_id}:2") is None
    [page] = order(desk, crawl_id, first)["pages"]
    report(desk, crawl_id, first, [good(page)])
    assert order(desk, crawl_id, first)["pages"] == []
    capture_level(desk, crawl_id, 2, links=[])
    second = dispatched(desk, crawl_id, 2)
    assert [one["url"] for one in order(desk, crawl_id, second, 2)["pages"]] == ["http://127.0.0.2/b"]


def test_a_crawl_that_is_cancelled_in_the_middle_has_its_captures_extracted(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin()])
    page = desk.order(crawl_id)["frontier"][0]
    desk.report(crawl_id, [store(into(desk.root), crawl_id, page, html="<title>a</title>").result])
    extract_pass(desk)
    assert desk.prefect.run_of(f"extract:{crawl_id}:1") is None  # its level is under way
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    extract_pass(desk)
    assert [one["url"] for one in order(desk, crawl_id, dispatched(desk, crawl_id))["pages"]] == [SEEDS[0]]


def extract_pass(desk: Desk) -> None:
    """One pass of the reconciler of extractions, to its end."""
    asyncio.run_coroutine_threadsafe(desk.parts.extraction_runs.one_pass(), desk.loop).result(60)


def test_a_dispatch_that_was_lost_is_made_good_and_never_made_twice(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(*SEEDS, maxDepth=0, extractors=[pin()])
    desk.prefect.away = True
    capture_level(desk, crawl_id)
    wait_until(lambda: desk.crawl(crawl_id)["extraction"].get("reason"), "the trouble is told", 60)
    assert desk.crawl(crawl_id)["extraction"]["state"] == "waiting"
    assert desk.crawl(crawl_id)["state"] == "succeeded"
    desk.prefect.away = False
    extract_pass(desk)
    extract_pass(desk)
    run_id = dispatched(desk, crawl_id)
    assert len([run for run in desk.prefect.runs.values() if "extraction" in run["tags"]]) == 1
    assert desk.prefect.runs[run_id]["parameters"] == {"crawl_id": crawl_id, "number": 1}


def test_runs_that_die_are_followed_until_three_in_a_row_brought_nothing(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, ended_grace_s=0) as desk:
        add(desk)
        crawl_id, run_id, pages = begun(desk)
        report(desk, crawl_id, run_id, [good(pages[0])])
        for number in range(1, 5):
            prefect.set_state(dispatched(desk, crawl_id, number), "CRASHED", "killed")
            clock.advance(60)
            extract_pass(desk)  # sees the end
            extract_pass(desk)
            clock.advance(60)
            extract_pass(desk)  # opens the next one
        state = desk.crawl(crawl_id)["extraction"]
        assert (state["state"], state["pending"], state["extracted"]) == ("stopped", 1, 1)
        assert "crashed" in state["reason"]
        assert desk.crawl(crawl_id)["state"] == "succeeded"
        extract_pass(desk)
        assert prefect.run_of(f"extract:{crawl_id}:5") is None
        desk.post(f"/api/crawls/{crawl_id}/reconcile")
        extract_pass(desk)
        again = dispatched(desk, crawl_id, 5)
        [page] = order(desk, crawl_id, again, 5)["pages"]
        assert page["url"] == SEEDS[1]


def test_a_run_that_falls_silent_is_stopped_and_followed(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, reconcile=40) as desk:
        add(desk)
        crawl_id, run_id, _ = begun(desk)
        prefect.set_state(run_id, "RUNNING")
        for _ in range(8):  # passes that come when they should: the ledger itself did not sleep
            clock.advance(100)
            extract_pass(desk)
        assert prefect.runs[run_id]["state"]["type"] == "CANCELLING"
        assert dispatched(desk, crawl_id, 2) != run_id


def test_a_run_that_somebody_cancelled_is_not_followed(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, ended_grace_s=0) as desk:
        add(desk)
        crawl_id, run_id, _ = begun(desk)
        prefect.set_state(run_id, "CANCELLED")

        def over() -> bool:
            extract_pass(desk)
            return bool(desk.crawl(crawl_id)["extraction"]["state"] == "stopped")

        wait_until(over, "it is over", 60)
        extract_pass(desk)
        assert prefect.run_of(f"extract:{crawl_id}:2") is None


def test_a_late_manifest_brings_its_page_to_extraction(desk: Desk) -> None:
    add(desk)
    crawl_id = desk.start(SEEDS[0], maxDepth=0, extractors=[pin()])
    [page] = desk.order(crawl_id)["frontier"]
    one = store(into(desk.root), crawl_id, page, html="<title>a</title>")
    manifest = Path(one.manifest.removeprefix("file://"))
    content = manifest.read_bytes()
    manifest.unlink()
    desk.report(crawl_id, [one.result])
    desk.close(crawl_id)
    assert extractions(desk, crawl_id) == []
    manifest.write_bytes(content)
    desk.post(f"/api/crawls/{crawl_id}/reconcile")
    extract_pass(desk)
    assert len(order(desk, crawl_id, dispatched(desk, crawl_id))["pages"]) == 1


def test_pruning_takes_extractions_along_and_leaves_the_catalogue(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        add(desk)
        crawl_id, run_id, pages = begun(desk)
        report(desk, crawl_id, run_id, [good(page) for page in pages])
        clock.advance(3 * 86_400)
        desk.parts.pruning.prune(1)
        desk.get(f"/api/crawls/{crawl_id}/extractions", 404)
        report(desk, crawl_id, run_id, [], status=404)
        assert [one["id"] for one in desk.get("/api/extractors")["extractors"]] == ["facts"]


def test_metrics_count_pairs_by_outcome(desk: Desk) -> None:
    add(desk)
    crawl_id, run_id, pages = begun(desk)
    before = desk.client.get("/metrics").text
    report(desk, crawl_id, run_id, [good(pages[0]), bad(pages[1])])

    def count(text: str, outcome: str) -> float:
        lines = [
            line
            for line in text.splitlines()
            if line.startswith(f'comity_ledger_extractions_total{{outcome="{outcome}"')
        ]
        return float(lines[0].split()[-1]) if lines else 0

    after = desk.client.get("/metrics").text
    for outcome in ("extracted", "failed"):
        assert count(after, outcome) - count(before, outcome) == 1
