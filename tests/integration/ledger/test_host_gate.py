"""The host gate as its callers meet it: who gets a host, when, and what becomes of leases whose holder is gone."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ledger.store import crawls, hosts
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, Json, ShiftedClock, ledger_at, tried, wait_until

HOST = "127.0.0.2:8000"
SITE = f"http://{HOST}"
SLACK_MS = 5_000
"""Between two calls of a test: never more on the slowest machine."""


@dataclass
class Gate:
    """A ledger that takes three crawls at once, and its clock."""

    desk: Desk
    clock: ShiftedClock

    def crawl(self, *, taken: bool = True) -> str:
        """A crawl of the host, its level taken by its run."""
        crawl_id = self.desk.start(f"{SITE}/", maxDepth=0)
        if taken:
            self.desk.order(crawl_id)
        return crawl_id

    def ask(self, crawl_id: str, status: int = 200, *, delay: int = 2000, host: str = HOST, **more: Any) -> Json:
        body: Json = {"host": host, "delayMs": delay}
        if "crawlDelayMs" in more:
            body["crawlDelayMs"] = more.pop("crawlDelayMs")
        body["holder"] = {"crawlId": crawl_id, "depth": 0, "attempt": 1, **more}
        return self.desk.post("/api/hosts/lease", body, status)

    def renew(self, lease: Json, status: int = 200) -> Json:
        return self.desk.post("/api/hosts/renew", {"leaseId": lease["leaseId"]}, status)

    def release(self, lease: Json, status: int = 200, **more: Any) -> Json:
        return self.desk.post("/api/hosts/release", {"leaseId": lease["leaseId"], **more}, status)

    def lease_rows(self) -> list[tuple[str, str | None]]:
        """Holder and end of every lease, in the order in which they were given."""
        with self.desk.parts.store.reading() as tx:
            query = "SELECT holder_key, ending FROM host_lease ORDER BY granted_at"
            return [(str(key), ending) for key, ending in tx.connection().exec_driver_sql(query).all()]


@pytest.fixture
def gate(tmp_path: Path, prefect: FakePrefect) -> Iterator[Gate]:
    clock = ShiftedClock()
    settings: dict[str, Any] = {"max_running_crawls": 3, "clock": clock}
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect, **settings) as desk:
        yield Gate(desk, clock)


def _about(found_ms: int, expected_ms: int) -> bool:
    """True a little under what was expected: time passes between two calls."""
    return expected_ms - SLACK_MS < found_ms <= expected_ms


def test_first_visit_waits_for_nothing_and_the_next_one_for_its_gap(gate: Gate) -> None:
    crawl = gate.crawl()
    first = gate.ask(crawl, delay=60_000)
    assert (first["waitMs"], first["gapMs"], first["expiresInMs"]) == (0, 60_000, 300_000)
    assert gate.release(first) == {"released": True}
    second = gate.ask(crawl, delay=60_000)
    assert _about(second["waitMs"], 60_000)
    assert second["expiresInMs"] == second["waitMs"] + 300_000
    gate.release(second)
    gate.clock.advance(60)
    assert gate.ask(crawl, delay=60_000)["waitMs"] == 0


def test_delay_of_none_is_no_wait(gate: Gate) -> None:
    crawl = gate.crawl()
    gate.release(gate.ask(crawl, delay=0))
    assert gate.ask(crawl, delay=0)["waitMs"] == 0


def test_one_holder_at_a_time_and_other_hosts_are_free(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    refusal = gate.ask(two, 409)
    assert (refusal["code"], refusal["stop"]) == ("host-leased", False)
    assert refusal["retryAfterMs"] >= 1000
    assert HOST in refusal["error"]
    gate.ask(two, host="127.0.0.3:8000")
    gate.release(lease)
    assert _about(gate.ask(two, delay=90_000)["waitMs"], 90_000)  # touched by the other crawl


def test_hosts_go_round_between_crawls_in_the_order_of_asking(gate: Gate) -> None:
    one, two, three = gate.crawl(), gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    gate.ask(two, 409)
    gate.ask(three, 409)
    gate.release(lease)
    assert gate.ask(one, 409)["stop"] is False  # the others asked before
    gate.ask(three, 409)
    lease = gate.ask(two)
    gate.release(lease)
    gate.ask(two, 409)
    lease = gate.ask(three)
    gate.release(lease)
    gate.release(gate.ask(one))
    assert [key for key, _ in gate.lease_rows()] == [f"{crawl}:0" for crawl in (one, two, three, one)]


def test_turn_that_nobody_takes_goes_to_the_next(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    gate.ask(two, 409)
    gate.release(lease)
    gate.ask(one, 409)
    gate.clock.advance(16)
    gate.ask(one)


def test_rest_that_a_host_asked_for_holds_for_everybody(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    gate.release(gate.ask(one, delay=0), retryAfterMs=120_000)
    gate.clock.advance(20)
    lease = gate.ask(two, delay=0)
    assert _about(lease["waitMs"], 100_000)
    assert _about(lease["gapMs"], 120_000)
    gate.release(lease, visited=False)
    gate.clock.advance(101)
    lease = gate.ask(one, delay=0)
    assert (lease["waitMs"], lease["gapMs"]) == (0, 0)


def test_crawl_delay_that_one_crawl_heard_holds_for_others(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    gate.release(gate.ask(one, delay=1000, crawlDelayMs=70_000))
    lease = gate.ask(two, delay=1000)
    assert _about(lease["waitMs"], 70_000)
    assert lease["gapMs"] == 70_000
    gate.release(lease, visited=False)
    lease = gate.ask(one, delay=1000, crawlDelayMs=0)  # robots.txt asks for none any more
    assert lease["gapMs"] == 1000


def test_lease_that_was_not_used_is_no_touch(gate: Gate) -> None:
    crawl = gate.crawl()
    gate.release(gate.ask(crawl), visited=False)
    assert gate.ask(crawl, delay=60_000)["waitMs"] == 0
    assert gate.lease_rows()[0][1] == "unused"


def test_lease_lasts_as_long_as_it_is_renewed(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    for _ in range(3):
        gate.clock.advance(200)
        assert gate.renew(lease)["expiresInMs"] == 300_000
        gate.ask(two, 409)
    gate.clock.advance(301)
    late = gate.ask(two, delay=60_000)
    assert _about(late["waitMs"], 60_000 - 1_000)  # it ended a second ago, and counts as a touch then
    refusal = gate.renew(lease, 409)
    assert (refusal["code"], refusal["stop"]) == ("lease-lost", False)
    assert gate.lease_rows()[0][1] == "expired"


def test_lease_that_ran_out_and_that_nobody_took_is_renewed(gate: Gate) -> None:
    lease = gate.ask(gate.crawl())
    gate.clock.advance(400)
    gate.renew(lease)
    gate.ask(gate.crawl(), 409)


def test_release_that_comes_late_still_touches_the_host(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    gate.clock.advance(400)
    gate.release(gate.ask(two), visited=False)
    gate.clock.advance(400)
    assert gate.release(lease, retryAfterMs=5_000) == {"released": False}
    assert _about(gate.ask(two, delay=60_000)["waitMs"], 60_000)


def test_release_twice_touches_once(gate: Gate) -> None:
    crawl = gate.crawl()
    lease = gate.ask(crawl)
    assert gate.release(lease) == {"released": True}
    gate.clock.advance(50)
    assert gate.release(lease, retryAfterMs=90_000) == {"released": False}
    assert _about(gate.ask(crawl, delay=60_000)["waitMs"], 10_000)


def test_level_that_asks_again_takes_its_own_lease_over_as_a_touch(gate: Gate) -> None:
    crawl = gate.crawl()
    lost = gate.ask(crawl)
    again = gate.ask(crawl, delay=60_000)
    assert _about(again["waitMs"], 60_000)
    assert gate.renew(lost, 409)["stop"] is False
    assert gate.lease_rows() == [(f"{crawl}:0", "taken-over"), (f"{crawl}:0", None)]


def test_next_attempt_takes_over_and_the_one_before_is_told_to_stop(gate: Gate) -> None:
    crawl = gate.crawl()
    lease = gate.ask(crawl)
    with gate.desk.parts.store.writing() as tx:
        connection = tx.connection()
        connection.exec_driver_sql("UPDATE crawl SET attempt = 2")
        connection.exec_driver_sql(
            "INSERT INTO level (crawl_id, depth, attempt, opened_at) SELECT crawl_id, depth, 2, opened_at FROM level"
        )
    for refusal in (gate.ask(crawl, 409), gate.renew(lease, 409)):
        assert (refusal["code"], refusal["stop"]) == ("stale-run", True)
    taken = gate.ask(crawl, attempt=2, delay=60_000)
    assert _about(taken["waitMs"], 60_000)
    assert gate.release(lease) == {"released": False}


@pytest.mark.parametrize(
    "holder", [{"depth": 1}, {"attempt": 2}, {"runId": "another"}], ids=["depth", "attempt", "run"]
)
def test_stale_holder_is_told_to_stop(gate: Gate, holder: Json) -> None:
    crawl = gate.crawl()
    refusal = gate.ask(crawl, 409, **holder)
    assert (refusal["code"], refusal["stop"]) == ("stale-run", True)
    gate.ask(crawl, runId=gate.desk.run_id(crawl, 0))


def test_leases_end_with_their_level_as_touches(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    [page] = gate.desk.order(one)["frontier"]
    gate.desk.report(one, [gate.desk.captured(one, page)])
    gate.desk.close(one)
    assert gate.lease_rows()[0][1] == "work-ended"
    assert _about(gate.ask(two, delay=60_000)["waitMs"], 60_000)
    assert gate.ask(one, 409)["stop"] is True
    assert gate.renew(lease, 409)["stop"] is True


def test_crawl_that_failed_gives_its_hosts_back_at_once(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    gate.ask(one)
    failed = {**gate.desk.fence(one), "outcome": "failed", "reason": "no capture server"}
    assert gate.desk.post(f"/api/crawls/{one}/failed", failed)["closed"] is True
    assert _about(gate.ask(two, delay=60_000)["waitMs"], 60_000)


def test_run_that_crashed_leaves_its_hosts_to_whoever_comes_first(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    crashed = {**gate.desk.fence(one), "outcome": "crashed", "reason": "killed"}
    assert gate.desk.post(f"/api/crawls/{one}/failed", crashed)["closed"] is False
    assert gate.renew(lease, 409)["stop"] is True
    other = gate.ask(two, delay=60_000)
    assert _about(other["waitMs"], 60_000)
    assert gate.ask(one, 409, attempt=2)["stop"] is False
    gate.release(other, visited=False)
    assert _about(gate.ask(one, delay=60_000, attempt=2)["waitMs"], 60_000)


def test_crawl_that_was_cancelled_keeps_its_host_until_its_capture_has_ended(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    lease = gate.ask(one)
    gate.desk.post(f"/api/crawls/{one}/cancel")
    gate.ask(two, 409)
    assert gate.renew(lease, 409)["stop"] is True
    gate.clock.advance(5)
    assert gate.release(lease) == {"released": True}
    assert _about(gate.ask(two, delay=60_000)["waitMs"], 60_000)


def test_cancelled_crawl_that_never_says_that_it_ended_holds_its_host_for_a_moment_only(gate: Gate) -> None:
    one, two = gate.crawl(), gate.crawl()
    gate.ask(one)
    gate.desk.post(f"/api/crawls/{one}/cancel")
    gate.ask(two, 409)
    gate.clock.advance(31)
    assert _about(gate.ask(two, delay=60_000)["waitMs"], 59_000)


def test_result_of_a_leased_visit_touches_its_host_no_second_time(gate: Gate) -> None:
    crawl = gate.crawl()
    [page] = gate.desk.order(crawl)["frontier"]
    result = gate.desk.captured(crawl, page)
    lease = gate.ask(crawl)
    gate.release(lease)
    gate.clock.advance(30)
    result["tries"] = [{**one, "leaseId": lease["leaseId"], "waitedMs": 0} for one in result["tries"]]
    gate.desk.report(crawl, [result])
    assert _about(gate.ask(crawl, delay=60_000)["waitMs"], 30_000)


def test_result_without_a_lease_and_a_redirect_touch_their_hosts(gate: Gate) -> None:
    crawl = gate.crawl()
    [page] = gate.desk.order(crawl)["frontier"]
    gate.desk.report(crawl, [gate.desk.captured(crawl, page, final_url="http://127.0.0.9/landed")])
    for host in (HOST, "127.0.0.9"):
        assert _about(gate.ask(crawl, delay=60_000, host=host)["waitMs"], 60_000)


def test_many_that_ask_at_once_get_the_host_one_after_the_other(gate: Gate) -> None:
    crawls = [gate.crawl() for _ in range(3)]
    start = threading.Barrier(3)
    inside, most, visits = 0, 0, 0
    lock = threading.Lock()

    def visit(crawl_id: str) -> None:
        nonlocal inside, most, visits
        start.wait()
        wanted = 5
        while wanted:
            body = {"host": HOST, "delayMs": 0, "holder": {"crawlId": crawl_id, "depth": 0, "attempt": 1}}
            answer = gate.desk.client.post("/api/hosts/lease", json=body)
            if answer.status_code == 409:
                continue
            assert answer.status_code == 200, answer.text
            with lock:
                inside += 1
                most = max(most, inside)
                visits += 1
            with lock:
                inside -= 1
            gate.release(answer.json())
            wanted -= 1

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(visit, crawl) for crawl in crawls]:
            done.result(60)
    assert (most, visits) == (1, 15)


def test_first_asks_for_an_unknown_host_at_once_give_one_lease(gate: Gate) -> None:
    crawls = [gate.crawl() for _ in range(3)]
    start = threading.Barrier(3)

    def ask(crawl_id: str, host: str) -> int:
        start.wait()
        body = {"host": host, "delayMs": 0, "holder": {"crawlId": crawl_id, "depth": 0, "attempt": 1}}
        return gate.desk.client.post("/api/hosts/lease", json=body).status_code

    with ThreadPoolExecutor(3) as pool:
        for number in range(5):
            asked = [pool.submit(ask, crawl, f"127.0.0.{number + 10}") for crawl in crawls]
            assert sorted(done.result(30) for done in asked) == [200, 409, 409]


def test_level_run_with_a_wrong_clock_changes_nothing_for_the_gate(gate: Gate) -> None:
    crawl = gate.crawl()
    [page] = gate.desk.order(crawl)["frontier"]
    gate.release(gate.ask(crawl))
    result = {"pageId": page["pageId"], "url": page["url"], "status": "failed", "reason": "x"}
    wrong = tried("lost", submittedAt="2001-01-01T00:00:00Z", finishedAt="2099-01-01T00:00:00Z", leaseId="l1")
    gate.desk.report(crawl, [{**result, "tries": [wrong]}])
    assert _about(gate.ask(crawl, delay=60_000)["waitMs"], 60_000)


def test_lease_is_renewed_after_whoever_changes_its_crawl_and_then_the_host(gate: Gate) -> None:
    """Both rows are locked in one order: a database that has many writers would end one of the two calls otherwise."""
    crawl = gate.crawl()
    lease = gate.ask(crawl)
    with ThreadPoolExecutor(1) as pool:
        with gate.desk.parts.store.writing() as tx:
            assert crawls.get_to_change(tx, crawl) is not None
            renewing = pool.submit(gate.renew, lease)
            if tx.connection().dialect.name == "postgresql":
                waiting = "SELECT count(*) FROM pg_stat_activity"
                waiting += " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                wait_until(
                    lambda: tx.connection().exec_driver_sql(waiting).scalar_one(), "the renewal waits for the crawl"
                )
            assert hosts.to_change(tx, HOST).lease_id == lease["leaseId"]
        assert renewing.result(60)["expiresInMs"] > 0
