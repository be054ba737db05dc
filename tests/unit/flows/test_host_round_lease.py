"""The host's lease: one for each capture, kept while it lasts, given back whatever happens."""

import dataclasses
import re
import threading
import time

import pytest

from flows.errors import HostNotFree, LedgerUnavailable, ServerUnavailable
from flows.host_round import HostSummary
from tests.fakes.endpoints import FakeEndpoint, busy, failure, site_status, slow, success
from tests.fakes.http_server import Asked, Reply
from tests.fakes.ledger import CRAWL, FakeLedger, taken
from tests.fakes.ports import dead_url
from tests.unit.flows.round import FAST, HOST, Round, after, facts


def calls(ledger: FakeLedger) -> list[str]:
    """What the ledger was asked, in order."""
    return [asked.path.rsplit("/", 1)[-1] for asked in ledger.asked]


def test_each_capture_has_a_lease_that_ends_before_its_result_is_told(ledger: FakeLedger) -> None:
    with FakeEndpoint() as one:
        Round(ledger, [one.url], pages=2, delay_ms=30, crawl_delay_ms=20).run()
    assert calls(ledger) == ["lease", "release", "results"] * 2
    asked = ledger.leases[0]
    assert (asked.host, asked.delay_ms, asked.crawl_delay_ms) == (HOST, 30, 20)
    assert asked.holder.to_wire() == {"kind": "crawl", "crawlId": CRAWL, "depth": 0, "attempt": 1, "runId": "run"}
    assert [(one.lease_id, one.visited, one.retry_after_ms) for one in ledger.released] == [
        ("l1", True, None),
        ("l2", True, None),
    ]
    assert [result.tries[0].lease_id for result in ledger.results] == ["l1", "l2"]


def test_second_try_of_a_page_has_a_lease_of_its_own(ledger: FakeLedger) -> None:
    with FakeEndpoint([failure("internal"), success]) as one:
        Round(ledger, [one.url]).run()
    assert calls(ledger) == ["lease", "release"] * 2 + ["results"]
    assert [one.lease_id for one in ledger.results[0].tries] == ["l1", "l2"]


def test_rest_that_the_host_asked_for_is_told_with_the_release(ledger: FakeLedger) -> None:
    with FakeEndpoint([site_status(429, 200), site_status(503), success]) as one:
        Round(ledger, [one.url], pages=3, delay_ms=20).run()
    assert [one.retry_after_ms for one in ledger.released] == [200, 20, None]


def test_lease_is_kept_while_all_browsers_are_busy_and_renewed(ledger: FakeLedger) -> None:
    pacing = dataclasses.replace(FAST, lease_renew_ms=20, busy_budget_ms=10_000)

    def turn(asked: Asked) -> Reply:
        return success(asked) if len(ledger.renewed) >= 3 else busy(asked)

    with FakeEndpoint([turn]) as one:
        Round(ledger, [one.url], facts=facts(pacing)).run()
    assert set(ledger.renewed) == {"l1"}
    assert len(ledger.leases) == 1
    assert [one.visited for one in ledger.released] == [True]
    assert {one.lease_id for one in ledger.results[0].tries} == {"l1"}


def test_lease_is_renewed_while_a_capture_lasts(ledger: FakeLedger) -> None:
    with FakeEndpoint([slow(0.3)]) as one:
        Round(ledger, [one.url], facts=facts(dataclasses.replace(FAST, lease_renew_ms=20))).run()
    assert len(ledger.renewed) >= 3


def test_host_that_was_not_visited_is_given_back_untouched(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy]) as one:
        for urls in ([one.url], [dead_url()]):
            with pytest.raises(ServerUnavailable):
                Round(ledger, urls).run()
    assert [one.visited for one in ledger.released] == [False, False]


def test_turns_of_others_are_waited_for(ledger: FakeLedger) -> None:
    refusals: list[float] = []

    def others_first(asked: Asked) -> Reply:
        refusals.append(asked.at)
        if len(refusals) == 4:
            del ledger.answers["POST /lease"]
        return taken(asked, retry_after_ms=40)

    ledger.answers["POST /lease"] = others_first
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url])
        round_.run()
        assert one.captures[0].at - refusals[0] >= 4 * 0.04
    assert round_.outcomes() == [("captured", None)]


def test_host_that_others_never_leave_fails_the_level_and_its_pages_stay_pending(ledger: FakeLedger) -> None:
    ledger.answers["POST /lease"] = taken
    with FakeEndpoint() as one, pytest.raises(HostNotFree, match=r"a\.test was not free for 0 s: others have it"):
        Round(ledger, [one.url]).run()
    assert (ledger.results, one.captures) == ([], [])


@pytest.mark.parametrize("call", ["lease", "renew"])
def test_gate_that_says_stop_ends_the_level(ledger: FakeLedger, call: str) -> None:
    ledger.answers[f"POST /{call}"] = lambda asked: taken(asked, stop=True, code="stale-run", retry_after_ms=0)
    with FakeEndpoint([slow(60)]) as one:
        pacing = dataclasses.replace(FAST, lease_renew_ms=20, capture_deadline_ms=60_000)
        round_ = Round(ledger, [one.url], pages=2, facts=facts(pacing))
        summary = round_.run()
        assert len(one.captures) == (call == "renew")
    assert summary == HostSummary(HOST, captured=0, failed=0, skipped=0, pending=2)
    assert round_.stop.cancelled
    assert round_.stop.reason == "others have it"
    assert [one.visited for one in ledger.released] == [True] * (call == "renew")


def test_host_that_went_to_others_while_we_waited_is_asked_for_again(ledger: FakeLedger) -> None:
    ledger.answers["POST /renew"] = lambda asked: taken(asked, code="lease-lost", retry_after_ms=0)
    lost = threading.Event()

    def turn(asked: Asked) -> Reply:
        if lost.is_set():
            return success(asked)
        after(lambda: ledger.of("POST", "/renew"), lost.set)
        return busy(asked)

    pacing = dataclasses.replace(FAST, lease_renew_ms=20, busy_budget_ms=10_000)
    with FakeEndpoint([turn]) as one:
        round_ = Round(ledger, [one.url], facts=facts(pacing))
        round_.run()
    assert round_.outcomes() == [("captured", None)]
    assert ledger.results[0].tries[-1].lease_id == f"l{len(ledger.leases)}"
    assert len(ledger.leases) >= 2
    assert ledger.released[0].visited is False


def test_lease_that_ran_out_is_renewed_before_anything_is_sent(ledger: FakeLedger) -> None:
    ledger.expires_in_ms = 0
    with FakeEndpoint() as one:
        Round(ledger, [one.url]).run()
        assert [asked.path for asked in ledger.asked][1] == "/api/hosts/renew"
        assert ledger.of("POST", "/renew")[0].at < one.captures[0].at
    assert len(ledger.leases) == 1


def test_release_that_fails_is_tried_again_and_does_not_hold_up_the_result(ledger: FakeLedger) -> None:
    ledger.answers["POST /release"] = lambda asked: Reply(503, {"error": "busy"})

    def turn(asked: Asked) -> Reply:
        if ledger.results:
            del ledger.answers["POST /release"]
        return success(asked)

    with FakeEndpoint([site_status(429, 50), turn]) as one:
        Round(ledger, [one.url], pages=2).run()
    assert len(ledger.results) == 2
    assert [one.lease_id for one in ledger.released] == ["l2"]
    assert calls(ledger)[:5] == ["lease", "release", "results", "release", "lease"]


def test_host_is_given_back_where_its_result_cannot_be_told(ledger: FakeLedger) -> None:
    ledger.answers["POST /results"] = lambda asked: Reply(503, {"error": "busy"})
    with FakeEndpoint() as one, pytest.raises(LedgerUnavailable):
        Round(ledger, [one.url]).run()
    assert [(one.lease_id, one.visited) for one in ledger.released] == [("l1", True)]


def test_ledger_that_is_away_for_a_moment_is_asked_again(ledger: FakeLedger) -> None:
    refused: list[Asked] = []

    def away(asked: Asked) -> Reply:
        refused.append(asked)
        if len(refused) == 3:
            del ledger.answers["POST /lease"]
        return Reply(503, {"error": "busy"})

    ledger.answers["POST /lease"] = away
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url])
        round_.run()
    assert round_.outcomes() == [("captured", None)]


def test_host_that_rests_for_too_long_by_an_earlier_answer_is_skipped(ledger: FakeLedger) -> None:
    ledger.wait_ms = ledger.gap_ms = 600_000  # what is left of it when it is looked at is too long still
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url], pages=2, facts=facts(max_host_delay_ms=60_000))
        summary = round_.run()
        assert one.captures == []
    reason = r"host-delay-too-long: an earlier Retry-After of the host asks for \d{6} ms, over the limit of 60000 ms"
    assert [status for status, _ in round_.outcomes()] == ["skipped"] * 2
    assert all(re.fullmatch(reason, said or "") for _, said in round_.outcomes())
    assert summary.skipped == 2
    assert [one.visited for one in ledger.released] == [False]


@pytest.mark.parametrize("at", ["turn", "gap"])
def test_stop_ends_the_wait_at_the_gate_at_once(ledger: FakeLedger, at: str) -> None:
    if at == "turn":
        ledger.answers["POST /lease"] = lambda asked: taken(asked, retry_after_ms=60_000)
    ledger.wait_ms = 60_000
    pacing = dataclasses.replace(FAST, gate_budget_ms=600_000)
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url], facts=facts(pacing))
        stopped: list[float] = []

        def stop() -> None:
            stopped.append(time.monotonic())
            round_.stop.set("over", hang_up=False)

        after(lambda: ledger.of("POST", "/lease"), stop)
        summary = round_.run()
        assert time.monotonic() - stopped[0] < 30
        assert one.captures == []
    assert summary.pending == 1
    assert [one.visited for one in ledger.released] == [False] * (at == "gap")
