"""No crawl stands still, and none is given up or tried again while its run lives."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger.rules.resume import CUT_OFF_S
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, ShiftedClock, ledger_at, wait_until

SITE = "http://127.0.0.2:8000"


@dataclass
class Watch:
    """A ledger whose time the test drives."""

    desk: Desk
    clock: ShiftedClock

    def after(self, seconds: int) -> None:
        """Let the time pass as it does: with a pass of the reconciler every ten seconds."""
        for _ in range(seconds // 10):
            self.clock.advance(10)
            self.desk.reconcile()

    def state(self, crawl_id: str) -> str:
        state: str = self.desk.crawl(crawl_id)["state"]
        return state

    def ends(self, crawl_id: str) -> list[str]:
        """How the attempts ended that did not close their level."""
        return [one["ended"] for one in self.desk.crawl(crawl_id)["attempts"]]


@pytest.fixture
def watch(tmp_path: Path, prefect: FakePrefect) -> Iterator[Watch]:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, silence_limit_s=45) as desk:
        yield Watch(desk, clock)


def _at_work(watch: Watch, *seeds: str) -> tuple[str, str]:
    """A crawl whose run has taken the work order: its id and the run's."""
    crawl_id = watch.desk.start(*seeds)
    run_id = watch.desk.run_id(crawl_id, 0)
    watch.desk.prefect.set_state(run_id, "RUNNING")
    watch.desk.order(crawl_id)
    return crawl_id, run_id


def test_run_that_falls_silent_is_stopped_and_followed_by_another_with_what_is_pending(watch: Watch) -> None:
    crawl_id, first = _at_work(watch, f"{SITE}/a", f"{SITE}/b")
    desk = watch.desk
    desk.report(crawl_id, [desk.captured(crawl_id, desk.order(crawl_id)["frontier"][0])])
    watch.after(40)
    assert watch.ends(crawl_id) == []
    watch.after(10)
    [ended] = desk.crawl(crawl_id)["attempts"]
    assert (ended["ended"], ended["reason"]) == ("silent", "no sign of life from the flow run for 45 s")
    assert (ended["depth"], ended["attempt"], ended["runId"]) == (0, 1, first)
    assert desk.prefect.runs[first]["state"]["type"] == "CANCELLING"
    assert len(desk.prefect.runs) == 1  # it may still be at a page
    desk.prefect.set_state(first, "CANCELLED")
    watch.after(10)
    assert desk.run_id(crawl_id, 0, attempt=2) != first
    assert [page["url"] for page in desk.order(crawl_id)["frontier"]] == [f"{SITE}/b"]
    assert desk.do_level(crawl_id)["stopReason"] == "completed"
    view = desk.crawl(crawl_id)
    assert (view["state"], view["error"], view["counts"]["captured"]) == ("succeeded", None, 2)
    desk.start(f"{SITE}/")


def test_run_that_does_not_end_is_waited_for_as_long_as_it_may_visit_a_page(watch: Watch) -> None:
    crawl_id, first = _at_work(watch)
    watch.after(CUT_OFF_S - 20)
    assert watch.ends(crawl_id) == ["silent"]
    assert len(watch.desk.prefect.runs) == 1  # what it has in hand may not be over yet
    watch.after(30)
    [page] = watch.desk.order(crawl_id)["frontier"]
    assert page["hostIdleMs"] < 20_000  # counted from when the run before was given up, not from when it fell silent
    assert watch.desk.run_id(crawl_id, 0, attempt=2) != first
    assert watch.desk.prefect.runs[first]["state"]["type"] == "CANCELLING"


def test_silence_is_noticed_while_prefect_is_away_too(watch: Watch) -> None:
    crawl_id, first = _at_work(watch)
    watch.desk.prefect.away = True
    watch.after(50)
    assert watch.ends(crawl_id) == ["silent"]
    watch.after(CUT_OFF_S - 50)
    watch.desk.prefect.away = False
    assert len(watch.desk.prefect.runs) == 1
    watch.after(10)
    assert watch.desk.run_id(crawl_id, 0, attempt=2) != first


def test_empty_reports_keep_a_crawl_alive(watch: Watch) -> None:
    crawl_id, _ = _at_work(watch)
    for _ in range(12):
        watch.after(10)
        assert watch.desk.report(crawl_id, []) == {"stop": False, "reason": None}
    assert watch.state(crawl_id) == "running"


def test_report_of_another_run_is_no_sign_of_life(watch: Watch) -> None:
    crawl_id, _ = _at_work(watch)
    for _ in range(5):
        watch.after(10)
        body = {**watch.desk.fence(crawl_id), "runId": "other", "results": []}
        assert watch.desk.post(f"/api/crawls/{crawl_id}/results", body)["stop"] is True
    assert watch.ends(crawl_id) == ["silent"]


def test_prefect_away_closes_no_crawl_whose_run_is_heard(watch: Watch) -> None:
    crawl_id, _ = _at_work(watch)
    watch.desk.prefect.away = True
    for _ in range(3):
        watch.after(10)
        watch.desk.report(crawl_id, [])
    assert watch.state(crawl_id) == "running"
    watch.desk.prefect.away = False
    watch.after(10)
    assert watch.desk.do_level(crawl_id)["stopReason"] == "completed"


@pytest.mark.parametrize(
    ("kind", "ended", "state", "words"),
    [
        ("COMPLETED", "lost", "running", "without closing the level"),
        ("FAILED", "failed", "failed", "failed in Prefect: boom"),
        ("CRASHED", "crashed", "running", "crashed in Prefect: boom"),
        ("CANCELLED", "cancelled", "cancelled", "cancelled in Prefect: boom"),
    ],
)
@pytest.mark.parametrize("taken", [True, False])
def test_run_that_is_over_in_prefect_ends_the_attempt(
    watch: Watch, kind: str, ended: str, state: str, words: str, taken: bool
) -> None:
    if taken:
        crawl_id, run_id = _at_work(watch)
        watch.after(20)
    else:
        crawl_id = watch.desk.start()
        run_id = watch.desk.run_id(crawl_id, 0)
    watch.desk.prefect.set_state(run_id, kind, "boom")
    watch.desk.reconcile()
    assert watch.ends(crawl_id) == []  # the run's own report of its end may still come
    watch.after(10)
    view = watch.desk.crawl(crawl_id)
    [one] = view["attempts"]
    assert (one["ended"], view["state"]) == (ended, state)
    assert words in one["reason"]
    assert view["error"] == (None if state == "running" else one["reason"])
    assert not [path for _, path in watch.desk.prefect.calls if "set_state" in path]
    if state == "running":
        assert watch.desk.run_id(crawl_id, 0, attempt=2) != run_id


def test_run_that_prefect_alone_takes_for_crashed_is_left_at_its_work(watch: Watch) -> None:
    crawl_id, run_id = _at_work(watch, f"{SITE}/a", f"{SITE}/b")
    watch.desk.prefect.set_state(run_id, "CRASHED", "no heartbeat")
    for _ in range(6):
        watch.after(10)
        assert watch.desk.report(crawl_id, [])["stop"] is False
    assert watch.ends(crawl_id) == []
    watch.after(30)
    assert watch.ends(crawl_id) == ["crashed"]


def test_runs_own_report_of_its_end_is_the_reason(watch: Watch) -> None:
    crawl_id, run_id = _at_work(watch)
    watch.desk.prefect.set_state(run_id, "FAILED", "boom")
    watch.desk.reconcile()
    body = {**watch.desk.fence(crawl_id), "outcome": "failed", "reason": "[plan] no robots"}
    watch.desk.post(f"/api/crawls/{crawl_id}/failed", body)
    watch.after(20)
    assert watch.desk.crawl(crawl_id)["error"] == "[plan] no robots"


@pytest.mark.parametrize(
    ("kind", "waits", "ended", "words"),
    [
        ("SCHEDULED", 600, "failed", "worker"),
        ("PENDING", 300, "lost", "Pending"),
        ("RUNNING", 180, "lost", "never asked for its work order"),
        ("CANCELLING", 120, "cancelled", "being cancelled"),
    ],
)
def test_run_that_never_gets_going_has_a_deadline(watch: Watch, kind: str, waits: int, ended: str, words: str) -> None:
    crawl_id = watch.desk.start()
    run_id = watch.desk.run_id(crawl_id, 0)
    watch.desk.prefect.set_state(run_id, kind)
    watch.desk.reconcile()
    watch.after(waits - 10)
    assert watch.ends(crawl_id) == []
    watch.after(20)
    view = watch.desk.crawl(crawl_id)
    [one] = view["attempts"]
    assert one["ended"] == ended
    assert words in one["reason"]
    assert view["state"] == {"lost": "running"}.get(ended, ended)


def test_prefect_that_stays_away_before_the_run_began_is_named(watch: Watch) -> None:
    crawl_id = watch.desk.start()
    watch.desk.prefect.away = True
    watch.after(590)
    assert watch.state(crawl_id) == "running"
    watch.after(20)
    view = watch.desk.crawl(crawl_id)
    assert view["state"] == "failed"
    assert "Prefect did not answer" in view["error"]


def test_run_that_prefect_forgot_is_created_again(watch: Watch) -> None:
    crawl_id = watch.desk.start()
    lost = watch.desk.run_id(crawl_id, 0)
    watch.desk.prefect.runs.clear()
    watch.after(10)
    found = watch.desk.run_id(crawl_id, 0)
    assert found != lost
    assert watch.state(crawl_id) == "running"


def test_machine_that_slept_hears_its_runs_again_before_it_judges(watch: Watch) -> None:
    crawl_id, _ = _at_work(watch)
    watch.clock.advance(3600)
    watch.desk.reconcile()
    assert watch.ends(crawl_id) == []
    watch.after(50)
    assert watch.ends(crawl_id) == ["silent"]


def test_ledger_that_was_away_hears_its_runs_again_before_it_judges(tmp_path: Path, prefect: FakePrefect) -> None:
    clock = ShiftedClock()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock) as desk:
        crawl_id, _ = _at_work(Watch(desk, clock))
    clock.advance(3600)
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, clock=clock, silence_limit_s=45) as desk:
        watch = Watch(desk, clock)
        desk.reconcile()
        assert watch.ends(crawl_id) == []
        watch.after(50)
        assert watch.ends(crawl_id) == ["silent"]


def test_reconciler_runs_by_itself(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, reconcile=0.1, silence_limit_s=0.5) as desk:
        crawl_id = desk.start(f"{SITE}/")
        for attempt in (1, 2, 3):
            desk.run_id(crawl_id, 0, attempt)
            desk.order(crawl_id)
        wait_until(lambda: desk.crawl(crawl_id)["state"] == "failed", "the silent runs are noticed")
        assert "level 0 was tried 3 times" in desk.crawl(crawl_id)["error"]
