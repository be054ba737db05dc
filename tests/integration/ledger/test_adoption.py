"""Captures that nobody reported: their flow run died between the last byte and the report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried, wait_until
from tests.integration.ledger.stored import into, store

SITE = "http://127.0.0.2:8000"


@pytest.fixture
def clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, clock: ShiftedClock) -> Iterator[Desk]:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as running:
        yield running


def _died(desk: Desk, *paths: str, **policy: Any) -> tuple[str, list[Json]]:
    """A crawl whose run took its order and fell silent for good."""
    crawl_id = desk.start(*(f"{SITE}{path}" for path in paths or ("/",)), **policy)
    frontier: list[Json] = desk.order(crawl_id)["frontier"]
    return crawl_id, frontier


def _fails(desk: Desk, crawl_id: str) -> None:
    desk.post(
        f"/api/crawls/{crawl_id}/failed", {**desk.fence(crawl_id), "outcome": "failed", "reason": "a step failed"}
    )


def _pages(desk: Desk, crawl_id: str) -> list[Json]:
    pages: list[Json] = desk.get(f"/api/crawls/{crawl_id}/pages")["pages"]
    return pages


def _adopted(desk: Desk, crawl_id: str) -> int:
    adopted: int = desk.post(f"/api/crawls/{crawl_id}/reconcile")["adopted"]
    return adopted


def test_unreported_capture_of_an_ended_crawl_is_adopted_with_its_visit(desk: Desk) -> None:
    crawl_id, [first, _] = _died(desk, "/a", "/b")
    stored = store(into(desk.root), crawl_id, first, number=2)
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 1
    captured, pending = _pages(desk, crawl_id)
    assert (captured["state"], captured["artifacts"]) == ("captured", stored.artifacts)
    assert captured["manifestLocation"] == stored.manifest
    [visit] = captured["visits"]
    assert (visit["attempt"], visit["try"], visit["outcome"]) == (1, 2, "success")
    assert visit["taskId"] == stored.result["taskId"]
    assert (pending["state"], pending["visits"]) == ("pending", [])
    crawl = desk.crawl(crawl_id)
    assert (crawl["state"], crawl["counts"]["captured"], crawl["counts"]["pending"]) == ("failed", 1, 1)
    assert _adopted(desk, crawl_id) == 0
    origin = desk.get(f"/api/tasks/{visit['taskId']}")
    assert (origin["crawlId"], origin["pageId"], origin["organization"], origin["startedBy"]) == (
        crawl_id,
        first["pageId"],
        "default",
        "operator",
    )
    desk.get("/api/tasks/t-unknown", 404)


def test_capture_that_came_by_the_sink_is_adopted(desk: Desk) -> None:
    crawl_id, [page] = _died(desk)
    into_sink = into(desk.root / "sink" / crawl_id)
    stored = store(lambda key, data: into_sink(key.rpartition("/")[2], data), crawl_id, page)
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 1
    assert _pages(desk, crawl_id)[0]["artifacts"] == stored.artifacts


def test_failed_capture_is_evidence_of_a_visit_and_no_outcome(desk: Desk) -> None:
    crawl_id, [page] = _died(desk)
    store(into(desk.root), crawl_id, page, status="timeout")
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 0
    [row] = _pages(desk, crawl_id)
    assert (row["state"], [visit["outcome"] for visit in row["visits"]]) == ("pending", ["timeout"])


def test_good_try_is_adopted_beside_a_bad_one(desk: Desk) -> None:
    crawl_id, [page] = _died(desk)
    good = store(into(desk.root), crawl_id, page, number=1)
    store(into(desk.root), crawl_id, page, number=2, status="failed")
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 1
    [row] = _pages(desk, crawl_id)
    assert (row["manifestLocation"], len(row["visits"])) == (good.manifest, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"url": f"{SITE}/other"},
        {"correlationId": "c0123456789abcdef.p0123456789abcdef.1.1"},
        {"correlationId": None},
        {"status": "odd"},
        {"labels": 7},
    ],
)
def test_manifest_that_is_not_what_its_name_says_is_not_adopted(desk: Desk, change: Json) -> None:
    crawl_id, [page] = _died(desk)
    store(into(desk.root), crawl_id, page, **change)
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 0
    [row] = _pages(desk, crawl_id)
    assert (row["state"], row["visits"]) == ("pending", [])


def test_capture_of_another_crawl_or_outside_the_root_is_left_alone(desk: Desk, tmp_path: Path) -> None:
    crawl_id, [page] = _died(desk)
    store(into(desk.root), "c0123456789abcdef", page)
    elsewhere = tmp_path / "elsewhere"
    stored = store(into(elsewhere), crawl_id, page)
    outside = Path(stored.manifest.removeprefix("file://"))
    inside = desk.root / outside.relative_to(elsewhere)
    inside.symlink_to(outside)
    _fails(desk, crawl_id)
    assert _adopted(desk, crawl_id) == 0
    assert _pages(desk, crawl_id)[0]["state"] == "pending"


def test_page_that_was_given_up_by_deadline_is_captured_after_all_and_its_links_are_followed(desk: Desk) -> None:
    crawl_id, [page] = _died(desk, maxDepth=1)
    failed = {
        "pageId": page["pageId"],
        "url": page["url"],
        "status": "failed",
        "reason": "deadline 145000 ms passed",
        "tries": [tried("deadline 145000 ms passed")],
    }
    desk.report(crawl_id, [failed])
    store(into(desk.root), crawl_id, page, links=[f"{SITE}/next"])
    assert desk.post("/api/reconcile")["adopted"] == 1  # a running crawl, and nobody named it
    [row] = _pages(desk, crawl_id)
    assert row["state"] == "captured"
    assert [visit["outcome"] for visit in row["visits"]] == ["deadline 145000 ms passed"]
    assert [following["url"] for following in desk.close(crawl_id)["next"]] == [f"{SITE}/next"]


def test_run_at_work_is_not_forestalled(desk: Desk) -> None:
    crawl_id, [page] = _died(desk)
    stored = store(into(desk.root), crawl_id, page)
    assert _adopted(desk, crawl_id) == 0
    desk.report(crawl_id, [stored.result])
    [row] = _pages(desk, crawl_id)
    assert (row["state"], row["visits"][0]["endpoint"]) == ("captured", "http://127.0.0.1:1")


def test_timer_finds_ended_crawls_within_the_window_alone(desk: Desk, clock: ShiftedClock) -> None:
    crawl_id, [page] = _died(desk)
    store(into(desk.root), crawl_id, page)
    _fails(desk, crawl_id)
    assert desk.post("/api/reconcile")["adopted"] == 0  # its run may still say its last words
    clock.advance(3700)
    assert desk.post("/api/reconcile")["adopted"] == 0
    clock.advance(-3600)
    assert desk.post("/api/reconcile")["adopted"] == 1
    # As evidence the visit was over when its manifest says, not when it was found: others came to the host meanwhile.
    [visit] = _pages(desk, crawl_id)[0]["visits"]
    assert visit["receivedAt"] == visit["finishedAt"]


def test_next_attempt_does_not_visit_again_what_can_be_adopted(desk: Desk) -> None:
    crawl_id, [first, second] = _died(desk, "/a", "/b")
    store(into(desk.root), crawl_id, first)
    crashed = {**desk.fence(crawl_id), "outcome": "crashed", "reason": "the run was killed"}
    desk.post(f"/api/crawls/{crawl_id}/failed", crashed)
    wait_until(lambda: desk.crawl(crawl_id)["lastRun"]["attempt"] == 2, "the second attempt dispatched")
    run_id = desk.crawl(crawl_id)["lastRun"]["id"]
    order = desk.get(f"/api/crawls/{crawl_id}/levels/0", attempt=2, runId=run_id)
    assert [page["url"] for page in order["frontier"]] == [second["url"]]
    assert [page["state"] for page in _pages(desk, crawl_id)] == ["captured", "pending"]
