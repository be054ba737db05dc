"""A run that dies is followed by another: what was captured stays, what is pending is tried again, and not for ever."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried, wait_until

SITE = "http://127.0.0.2:8000"


def _fails(desk: Desk, crawl_id: str, outcome: str = "crashed", depth: int = 0, **other: str) -> Json:
    body = {**desk.fence(crawl_id, depth), "outcome": outcome, "reason": "[run] killed", **other}
    return desk.post(f"/api/crawls/{crawl_id}/failed", body)


def _crash(desk: Desk, crawl_id: str, attempt: int) -> None:
    """The run of that attempt takes its order and dies, and Prefect knows."""
    run_id = desk.run_id(crawl_id, 0, attempt)
    desk.order(crawl_id)
    desk.prefect.set_state(run_id, "CRASHED")
    _fails(desk, crawl_id, reason=f"[run] killed for the {attempt}. time")


def test_crashed_run_is_followed_at_once_by_one_with_only_what_is_pending(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b", maxDepth=1)
    first = desk.run_id(crawl_id, 0)
    done, pending = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, done, [f"{SITE}/c"])])
    desk.prefect.set_state(first, "CRASHED")
    assert _fails(desk, crawl_id) == {"closed": False, "nextAttempt": 2}
    second = desk.run_id(crawl_id, 0, attempt=2)
    run = desk.prefect.runs[second]
    assert (run["parameters"], run["idempotency_key"]) == (
        {"crawl_id": crawl_id, "depth": 0, "attempt": 2},
        f"{crawl_id}:0:2",
    )
    view = desk.crawl(crawl_id)
    assert (view["state"], view["error"]) == ("running", None)
    assert (view["lastRun"]["id"], view["lastRun"]["attempt"]) == (second, 2)
    [ended] = view["attempts"]
    assert (ended["attempt"], ended["runId"], ended["ended"], ended["reason"]) == (1, first, "crashed", "[run] killed")
    order = desk.order(crawl_id)
    assert [page["pageId"] for page in order["frontier"]] == [pending["pageId"]]
    assert order["attempt"] == 2
    answer = desk.do_level(crawl_id)
    assert [page["url"] for page in answer["next"]] == [f"{SITE}/c"]  # the links of before count too
    assert desk.last_run(crawl_id, 1)["attempt"] == 1
    assert desk.do_level(crawl_id, 1)["stopReason"] == "max_depth"
    assert desk.crawl(crawl_id)["counts"]["captured"] == 3


def test_run_that_dies_with_nothing_left_to_visit_is_followed_by_one_that_closes(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a")
    [page] = desk.order(crawl_id)["frontier"]
    desk.report(crawl_id, [desk.captured(crawl_id, page)])
    desk.prefect.set_state(desk.run_id(crawl_id, 0), "CRASHED")
    _fails(desk, crawl_id)
    desk.run_id(crawl_id, 0, attempt=2)
    assert desk.order(crawl_id)["frontier"] == []
    assert desk.close(crawl_id)["stopReason"] == "completed"


def test_three_attempts_that_die_fail_the_crawl_with_the_reason_of_each(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a", f"{SITE}/b")
    desk.report(crawl_id, [desk.captured(crawl_id, desk.order(crawl_id)["frontier"][0])])
    for attempt in (1, 2, 3):
        _crash(desk, crawl_id, attempt)
    view = desk.crawl(crawl_id)
    assert (view["state"], view["stopReason"]) == ("failed", "failed")
    assert view["error"] == (
        "level 0 was tried 3 times: attempt 1 crashed: [run] killed for the 1. time; "
        "attempt 2 crashed: [run] killed for the 2. time; attempt 3 crashed: [run] killed for the 3. time"
    )
    assert [(one["attempt"], one["ended"]) for one in view["attempts"]] == [(n, "crashed") for n in (1, 2, 3)]
    assert view["counts"] == {"pending": 1, "captured": 1, "failed": 0, "skipped": 0}
    assert len(desk.prefect.runs) == 3
    desk.start(f"{SITE}/")


def test_attempts_are_counted_for_each_level(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/", maxDepth=1)
    for attempt in (1, 2):
        _crash(desk, crawl_id, attempt)
    desk.run_id(crawl_id, 0, attempt=3)
    desk.do_level(crawl_id, links={f"{SITE}/": [f"{SITE}/a"]})
    desk.order(crawl_id, 1)
    desk.prefect.set_state(desk.run_id(crawl_id, 1), "CRASHED")
    assert _fails(desk, crawl_id, depth=1) == {"closed": False, "nextAttempt": 2}
    desk.run_id(crawl_id, 1, attempt=2)
    assert desk.do_level(crawl_id, 1)["stopReason"] == "max_depth"
    assert [(one["depth"], one["attempt"]) for one in desk.crawl(crawl_id)["attempts"]] == [(0, 1), (0, 2), (1, 1)]


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_later_attempt_that_gives_up_is_not_tried_again(desk: Desk, outcome: str) -> None:
    crawl_id = desk.start(f"{SITE}/")
    _crash(desk, crawl_id, 1)
    desk.run_id(crawl_id, 0, attempt=2)
    assert _fails(desk, crawl_id, outcome, reason="[plan] no")["closed"] is True
    view = desk.crawl(crawl_id)
    assert (view["state"], view["error"]) == (outcome, "[plan] no")
    assert [one["ended"] for one in view["attempts"]] == ["crashed", outcome]


def test_earlier_run_is_evidence_in_all_it_says_and_told_to_stop(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/a")
    old = desk.fence(crawl_id)
    [page] = desk.order(crawl_id)["frontier"]
    result = desk.captured(crawl_id, page)
    _crash(desk, crawl_id, 1)
    desk.run_id(crawl_id, 0, attempt=2)
    before = desk.crawl(crawl_id)
    calls: list[tuple[str, Json, int]] = [
        ("results", {"results": [result]}, 200),
        ("pages", {"results": [result], "compiled": {"typescript": "7.0", "hostTypes": "1", "scripts": []}}, 409),
        ("failed", {"outcome": "failed", "reason": "[x] y"}, 200),
        ("failed", {"outcome": "cancelled", "reason": "[x] y"}, 200),
    ]
    for call, body, status in calls:
        answer = desk.post(f"/api/crawls/{crawl_id}/{call}", {**old, **body}, status)
        if call == "results":
            assert answer["stop"] is True
        if call == "failed":
            assert answer == {"closed": False, "nextAttempt": None}
    assert desk.get(f"/api/crawls/{crawl_id}/levels/0", 409, attempt=1, runId=old["runId"])["code"] == "stale-run"
    assert desk.crawl(crawl_id) == before
    assert desk.get(f"/api/crawls/{crawl_id}/pages")["pages"][0]["visits"] == []
    assert _evidence(desk, crawl_id) == [call for call, _, _ in calls]
    assert desk.do_level(crawl_id)["stopReason"] == "completed"


def _evidence(desk: Desk, crawl_id: str) -> list[str]:
    """What is kept of stale runs: read where it lies, for no call shows it."""
    with desk.parts.store.reading() as tx:
        query = text("SELECT kind FROM stale_report WHERE crawl_id = :crawl ORDER BY id")
        return [str(kind) for (kind,) in tx.execute(query, {"crawl": crawl_id})]


def test_first_word_of_a_runs_end_counts(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    body = {**desk.fence(crawl_id), "outcome": "crashed", "reason": "[run] killed"}
    desk.prefect.set_state(desk.run_id(crawl_id, 0), "CRASHED")
    assert desk.post(f"/api/crawls/{crawl_id}/failed", body)["nextAttempt"] == 2
    assert desk.post(f"/api/crawls/{crawl_id}/failed", body) == {"closed": False, "nextAttempt": None}
    desk.run_id(crawl_id, 0, attempt=2)
    assert len(desk.crawl(crawl_id)["attempts"]) == 1


def test_many_words_of_one_runs_end_at_once_begin_one_attempt(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    run_id = desk.run_id(crawl_id, 0)
    desk.order(crawl_id)
    desk.prefect.set_state(run_id, "CRASHED")
    body = {**desk.fence(crawl_id), "reason": "[run] killed"}
    outcomes = ["crashed", "failed", "cancelled", "crashed", "crashed", "failed"]
    with ThreadPoolExecutor(len(outcomes)) as pool:
        said = [pool.submit(desk.post, f"/api/crawls/{crawl_id}/failed", {**body, "outcome": one}) for one in outcomes]
        answers = [one.result() for one in said]
    counted = [one for one in answers if one["closed"] or one["nextAttempt"]]
    view = desk.crawl(crawl_id)
    assert len(counted) == len(view["attempts"]) == 1
    assert (view["state"] == "running") is (counted[0]["nextAttempt"] == 2)
    assert len(_evidence(desk, crawl_id)) == len(outcomes) - 1


def test_hosts_with_pending_pages_count_as_touched_when_their_run_dies(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        crawl_id = desk.start("http://127.0.0.2/a", "http://127.0.0.2/b", "http://127.0.0.3/")
        order = desk.order(crawl_id)["frontier"]
        assert [page["hostIdleMs"] for page in order] == [None] * 3
        desk.report(crawl_id, [desk.captured(crawl_id, order[0], final_url="http://127.0.0.9/home")])
        desk.report(crawl_id, [desk.captured(crawl_id, order[2])])
        clock.advance(50)
        _crash(desk, crawl_id, 1)
        desk.run_id(crawl_id, 0, attempt=2)
        clock.advance(7)
        [pending] = desk.order(crawl_id)["frontier"]
        assert 7_000 <= pending["hostIdleMs"] < 50_000
        desk.do_level(crawl_id)
        after = desk.start("http://127.0.0.9/", "http://127.0.0.3/")
        led_to, done = desk.order(after)["frontier"]
        assert 7_000 <= led_to["hostIdleMs"] < 50_000  # where a page in flight may have been redirected
        assert done["hostIdleMs"] >= 57_000


def test_run_that_never_took_its_order_has_touched_nobody(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    desk.prefect.set_state(desk.run_id(crawl_id, 0), "CRASHED")
    _fails(desk, crawl_id)
    desk.run_id(crawl_id, 0, attempt=2)
    assert desk.order(crawl_id)["frontier"][0]["hostIdleMs"] is None


def test_visit_of_a_run_that_was_cut_off_touched_its_host_all_the_same(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        crawl_id = desk.start(f"{SITE}/a")
        old = desk.fence(crawl_id)
        [page] = desk.order(crawl_id)["frontier"]
        _crash(desk, crawl_id, 1)
        desk.run_id(crawl_id, 0, attempt=2)
        clock.advance(60)
        late = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "x", "tries": [tried("x")]}
        desk.post(f"/api/crawls/{crawl_id}/results", {**old, "results": [late]})
        assert desk.order(crawl_id)["frontier"][0]["hostIdleMs"] < 30_000


@pytest.mark.parametrize(("begun", "asked"), [("PENDING", "CANCELLED"), ("SCHEDULED", "CANCELLED")])
def test_run_that_was_not_begun_is_ended_before_the_next_one_starts(desk: Desk, begun: str, asked: str) -> None:
    crawl_id = desk.start(f"{SITE}/")
    first = desk.run_id(crawl_id, 0)
    desk.prefect.set_state(first, begun)
    _fails(desk, crawl_id)
    desk.run_id(crawl_id, 0, attempt=2)
    assert desk.prefect.runs[first]["state"]["type"] == asked


def test_both_runs_of_a_level_are_ended_before_the_next_one_starts(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    dispatched = desk.run_id(crawl_id, 0)
    desk.prefect.set_state(dispatched, "PENDING")
    by_hand = {**desk.prefect.runs[dispatched], "id": "8b0fd8a6-3c1e-4a9e-9c57-3f6d4e0c6a11", "idempotency_key": "x"}
    desk.prefect.runs[by_hand["id"]] = by_hand
    desk.prefect.set_state(by_hand["id"], "PENDING")
    desk.order(crawl_id, runId=by_hand["id"])
    _fails(desk, crawl_id)
    desk.run_id(crawl_id, 0, attempt=2)
    assert {desk.prefect.runs[run_id]["state"]["type"] for run_id in (dispatched, by_hand["id"])} == {"CANCELLED"}


def test_crawl_that_is_cancelled_between_two_attempts_ends_the_run_that_lives(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    first = desk.run_id(crawl_id, 0)
    desk.order(crawl_id)
    desk.prefect.set_state(first, "RUNNING")
    _fails(desk, crawl_id)
    wait_until(lambda: desk.prefect.runs[first]["state"]["type"] == "CANCELLING", "the run is asked to end")
    assert len(desk.prefect.runs) == 1
    view = desk.post(f"/api/crawls/{crawl_id}/cancel")
    assert (view["state"], [one["ended"] for one in view["attempts"]]) == ("cancelled", ["crashed", "cancelled"])
    desk.reconcile()
    assert len(desk.prefect.runs) == 1
    desk.start(f"{SITE}/")


def test_next_attempt_that_a_crash_of_the_ledger_swallowed_is_dispatched(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        crawl_id = desk.start(f"{SITE}/")
        desk.order(crawl_id)
        prefect.set_state(desk.run_id(crawl_id, 0), "CRASHED")
        prefect.away = True
        _fails(desk, crawl_id)
    prefect.away = False
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        desk.run_id(crawl_id, 0, attempt=2)
        assert desk.do_level(crawl_id)["stopReason"] == "completed"


def test_closing_that_the_earlier_run_repeats_gets_the_stored_answer(desk: Desk) -> None:
    crawl_id = desk.start(f"{SITE}/")
    old = desk.fence(crawl_id)
    _crash(desk, crawl_id, 1)
    desk.run_id(crawl_id, 0, attempt=2)
    answer = desk.do_level(crawl_id)
    assert desk.close(crawl_id, **old) == answer


def test_times_of_attempts_are_the_ledgers(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock(timedelta(days=400))
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        crawl_id = desk.start(f"{SITE}/")
        _fails(desk, crawl_id)
        view = desk.crawl(crawl_id)
        assert view["attempts"][0]["at"] >= view["startedAt"]
