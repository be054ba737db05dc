"""Levels get their runs: at once, later, never twice; and crawls end when told to."""

from pathlib import Path

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ledger_at, wait_until

SITE = "http://127.0.0.2:8000"
ORDER: Json = {"seeds": [f"{SITE}/"], "scripts": []}


def _start(desk: Desk) -> str:
    crawl_id: str = desk.post("/api/crawls", ORDER, 202)["crawlId"]
    return crawl_id


def test_start_answers_before_prefect_does(desk: Desk) -> None:
    desk.prefect.away = True
    crawl_id = _start(desk)
    assert desk.crawl(crawl_id)["lastRun"] is None
    assert desk.crawl(crawl_id)["state"] == "running"


def test_busy_prefect_is_asked_again(desk: Desk) -> None:
    desk.prefect.busy = 2
    crawl_id = _start(desk)
    desk.run_id(crawl_id, 0)
    assert len(desk.prefect.runs) == 1


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_prefect_that_asks_for_a_moment_gets_it(desk: Desk, status: int) -> None:
    desk.prefect.busy, desk.prefect.busy_status, desk.prefect.retry_after = 1, status, "1"
    crawl_id = _start(desk)
    desk.run_id(crawl_id, 0)
    assert len(desk.prefect.runs) == 1
    assert desk.crawl(crawl_id)["error"] is None


def test_an_answer_of_prefect_that_is_lost_makes_no_second_run(desk: Desk) -> None:
    desk.prefect.unheard = 1
    run_id = desk.run_id(_start(desk), 0)
    assert len([path for _, path in desk.prefect.calls if path.endswith("/create_flow_run")]) == 2
    assert list(desk.prefect.runs) == [run_id]


def test_a_prefect_that_asks_for_more_than_is_sensible_is_left_to_the_next_pass(
    tmp_path: Path, prefect: FakePrefect
) -> None:
    prefect.busy, prefect.retry_after = 1, "3600"
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, reconcile=0.2) as desk:
        desk.run_id(_start(desk), 0)
    assert len(prefect.runs) == 1


def test_prefect_with_a_password_gets_it(tmp_path: Path) -> None:
    with FakePrefect(auth="comity:secret") as prefect, ledger_at(tmp_path / "d", tmp_path / "s", prefect) as desk:
        desk.run_id(_start(desk), 0)


def test_deployment_is_looked_up_once_and_again_when_it_was_made_anew(desk: Desk) -> None:
    def looked_up() -> int:
        return len([path for _, path in desk.prefect.calls if "/deployments/name/" in path])

    for lookups in (1, 1):
        desk.post(f"/api/crawls/{desk.start()}/cancel")
        assert looked_up() == lookups
    desk.prefect.deployments = {"crawl-level/crawl-level": "a-new-id"}
    desk.start()
    assert looked_up() == 2


def test_level_lost_in_between_is_dispatched_by_the_next_start_of_the_ledger(
    tmp_path: Path, prefect: FakePrefect
) -> None:
    prefect.away = True
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        crawl_id = _start(desk)
    prefect.away = False
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        desk.run_id(crawl_id, 0)
        desk.do_level(crawl_id)
        assert desk.crawl(crawl_id)["state"] == "succeeded"


def test_prefect_that_comes_back_gets_the_level(tmp_path: Path, prefect: FakePrefect) -> None:
    prefect.deployments, there = {}, prefect.deployments
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, reconcile=0.2) as desk:
        crawl_id = _start(desk)
        wait_until(lambda: len(prefect.calls) > 2, "the ledger tries again")
        assert desk.crawl(crawl_id)["state"] == "running"
        prefect.deployments = there
        desk.run_id(crawl_id, 0)


def test_level_that_cannot_be_dispatched_ends_the_crawl_and_names_what_to_do(
    tmp_path: Path, prefect: FakePrefect
) -> None:
    prefect.deployments = {}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, reconcile=0.2, dispatch_limit_s=5) as desk:
        crawl_id = _start(desk)
        wait_until(lambda: desk.crawl(crawl_id)["state"] == "failed", "the crawl is closed")
        assert "prefect deploy" in desk.crawl(crawl_id)["error"]
        _start(desk)


@pytest.mark.parametrize("status", [409, 422])
def test_run_that_prefect_refuses_for_good_ends_the_crawl_at_once(desk: Desk, status: int) -> None:
    desk.prefect.refuse_creation = (status, "Validation failed for parameter 'depth'")
    crawl_id = _start(desk)
    wait_until(lambda: desk.crawl(crawl_id)["state"] == "failed", "the crawl is closed")
    assert "[dispatch]" in desk.crawl(crawl_id)["error"]
    assert "depth" in desk.crawl(crawl_id)["error"]


def test_cancel_frees_the_slot_and_stops_the_run(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    pages = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, pages[0])])
    run_id = desk.run_id(crawl_id, 0)
    desk.prefect.set_state(run_id, "RUNNING")
    view = desk.post(f"/api/crawls/{crawl_id}/cancel")
    assert (view["state"], view["stopReason"]) == ("cancelled", "cancelled")
    assert view["counts"] == {"pending": 1, "captured": 1, "failed": 0, "skipped": 0}
    wait_until(lambda: desk.prefect.runs[run_id]["state"]["type"] == "CANCELLING", "Prefect is told")
    assert desk.report(crawl_id, [])["stop"] is True
    assert desk.post(f"/api/crawls/{crawl_id}/cancel")["state"] == "cancelled"
    assert desk.crawl(desk.start(f"{SITE}/"))["state"] == "running"


@pytest.mark.parametrize(
    ("begun", "then"),
    [
        ("SCHEDULED", "CANCELLED"),
        ("PENDING", "CANCELLED"),  # its worker would not kill what has not begun
        ("RUNNING", "CANCELLING"),
        ("CANCELLING", "CANCELLING"),
        ("CRASHED", "CRASHED"),
    ],
)
def test_cancelled_crawl_ends_its_run_wherever_that_is(desk: Desk, begun: str, then: str) -> None:
    crawl_id = desk.start()
    run_id = desk.run_id(crawl_id, 0)
    desk.prefect.set_state(run_id, begun)
    calls = len(desk.prefect.calls)
    desk.post(f"/api/crawls/{crawl_id}/cancel")
    wait_until(lambda: len(desk.prefect.calls) > calls, "Prefect is asked")
    wait_until(lambda: desk.prefect.runs[run_id]["state"]["type"] == then, "Prefect is told")


def test_cancel_of_an_ended_crawl_is_refused(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    desk.do_level(crawl_id)
    assert "succeeded" in desk.post(f"/api/crawls/{crawl_id}/cancel", status=409)["error"]


def test_cancel_without_prefect_is_done_all_the_same(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    desk.prefect.away = True
    assert desk.post(f"/api/crawls/{crawl_id}/cancel")["state"] == "cancelled"


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_run_that_gives_up_ends_its_crawl_with_its_reason(desk: Desk, outcome: str) -> None:
    crawl_id = desk.start(f"{SITE}/")
    body = {**desk.fence(crawl_id), "outcome": outcome, "reason": "[compile] 3 diagnostics"}
    assert desk.post(f"/api/crawls/{crawl_id}/failed", body) == {"closed": True, "nextAttempt": None}
    view = desk.crawl(crawl_id)
    assert (view["state"], view["stopReason"], view["error"]) == (outcome, outcome, "[compile] 3 diagnostics")
    again = {**body, "outcome": "crashed", "reason": "again"}
    assert desk.post(f"/api/crawls/{crawl_id}/failed", again) == {"closed": False, "nextAttempt": None}
    assert desk.crawl(crawl_id) == view


@pytest.mark.parametrize(("length", "status"), [(2000, 200), (2001, 400)])
def test_reason_has_a_limit(desk: Desk, length: int, status: int) -> None:
    crawl_id = desk.start(f"{SITE}/")
    body = {**desk.fence(crawl_id), "outcome": "failed", "reason": "x" * length}
    desk.post(f"/api/crawls/{crawl_id}/failed", body, status)


def test_run_started_by_hand_cannot_end_the_crawl_of_the_dispatched_one(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    body = {**desk.fence(crawl_id), "runId": "by-hand", "outcome": "failed", "reason": "x"}
    assert desk.post(f"/api/crawls/{crawl_id}/failed", body) == {"closed": False, "nextAttempt": None}
    assert desk.crawl(crawl_id)["state"] == "running"
