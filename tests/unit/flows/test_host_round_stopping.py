"""One signal ends every wait of a host."""

import dataclasses
import pickle
import time
from collections.abc import Callable

from flows.host_round import HostSummary
from tests.fakes.endpoints import FakeEndpoint, busy, failure, slow
from tests.fakes.http_server import Reply
from tests.fakes.ledger import FakeLedger
from tests.fakes.ports import dead_url
from tests.unit.flows.round import FAST, HOST, Round, after, facts

SOON_S = 30
"""The waits that are ended are a minute and longer; a loaded machine may take its time over ending them."""


def _stopped_in_time(round_: Round, look: Callable[[], object], *, hang_up: bool) -> tuple[HostSummary, float]:
    """The round's end, and how long it took from the stop on."""
    at: list[float] = []

    def stop() -> None:
        at.append(time.monotonic())
        round_.stop.set("over", hang_up=hang_up)

    after(look, stop)
    summary = round_.run()
    return summary, time.monotonic() - at[0]


def test_stop_ends_the_wait_between_pages_at_once(ledger: FakeLedger) -> None:
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url], pages=2, delay_ms=60_000)
        summary, took = _stopped_in_time(round_, lambda: ledger.results, hang_up=False)
    assert took < SOON_S
    assert summary.pending == 1


def test_stop_ends_the_wait_for_a_free_endpoint_at_once(ledger: FakeLedger) -> None:
    pacing = dataclasses.replace(FAST, busy_wait_min_ms=60_000, busy_wait_max_ms=60_000, busy_budget_ms=600_000)
    with FakeEndpoint([busy]) as one:
        _, took = _stopped_in_time(Round(ledger, [one.url], facts=facts(pacing)), lambda: one.captures, hang_up=False)
    assert took < SOON_S
    assert ledger.results == []


def test_stop_ends_the_wait_for_unreachable_endpoints_at_once(ledger: FakeLedger) -> None:
    pacing = dataclasses.replace(FAST, unreachable_wait_ms=60_000)
    started = time.monotonic()
    round_ = Round(ledger, [dead_url()], facts=facts(pacing))
    _, took = _stopped_in_time(round_, lambda: time.monotonic() - started > 0.2, hang_up=False)
    assert took < SOON_S


def test_stop_ends_the_wait_for_the_ledger_at_once(ledger: FakeLedger) -> None:
    ledger.answers["POST /results"] = lambda asked: Reply(503, {"error": "busy"})
    pacing = dataclasses.replace(FAST, result_retry_ms=60_000, result_budget_ms=600_000)
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url], facts=facts(pacing))
        summary, took = _stopped_in_time(round_, lambda: ledger.of("POST", "/results"), hang_up=False)
    assert took < SOON_S
    assert summary.pending == 1


def test_cancellation_hangs_up_the_capture_in_flight(ledger: FakeLedger) -> None:
    with FakeEndpoint([slow(60)]) as one:
        pacing = dataclasses.replace(FAST, capture_deadline_ms=60_000)
        round_ = Round(ledger, [one.url], pages=2, facts=facts(pacing))
        summary, took = _stopped_in_time(round_, lambda: one.captures, hang_up=True)
        assert took < SOON_S
    assert summary.pending == 2
    assert ledger.results == []


def test_failure_elsewhere_lets_the_capture_in_flight_finish_and_tells_its_result(ledger: FakeLedger) -> None:
    with FakeEndpoint([slow(0.5)]) as one:
        round_ = Round(ledger, [one.url], pages=2)
        summary, took = _stopped_in_time(round_, lambda: one.captures, hang_up=False)
        assert one.hung_up == []
    assert 0.3 < took < SOON_S
    assert summary == HostSummary(HOST, captured=1, failed=0, skipped=0, pending=1)


def test_stop_before_a_second_try_tells_the_first(ledger: FakeLedger) -> None:
    with FakeEndpoint([failure("internal")]) as one:
        round_ = Round(ledger, [one.url], delay_ms=60_000)
        _, took = _stopped_in_time(round_, lambda: one.captures, hang_up=False)
    assert took < SOON_S
    assert round_.outcomes() == [("failed", "failed: it failed")]


def test_what_a_host_is_given_and_gives_back_travels_to_another_process() -> None:
    given = facts()
    assert pickle.loads(pickle.dumps(given)) == given
    summary = HostSummary(HOST, 1, 2, 3, 4)
    assert pickle.loads(pickle.dumps(summary)) == summary
