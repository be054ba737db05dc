"""The rest that a host gets between two pages."""

import time

import pytest

from tests.fakes.endpoints import FakeEndpoint, busy, failure, site_status, slow, success
from tests.fakes.ledger import FakeLedger
from tests.unit.flows.round import Round, facts, gaps


def test_gap_lies_between_one_end_and_the_next_beginning(ledger: FakeLedger) -> None:
    with FakeEndpoint([slow(0.2)]) as one:
        Round(ledger, [one.url], pages=3, delay_ms=150).run()
    assert all(gap >= 0.35 for gap in gaps(one)), gaps(one)


def test_no_delay_is_no_gap(ledger: FakeLedger) -> None:
    with FakeEndpoint() as one:
        started = time.monotonic()
        Round(ledger, [one.url], pages=5).run()
        assert time.monotonic() - started < 30


def test_first_page_waits_as_long_as_the_gate_says(ledger: FakeLedger) -> None:
    ledger.wait_ms, ledger.gap_ms = 200, 7_000
    with FakeEndpoint() as one:
        started = time.monotonic()
        Round(ledger, [one.url], pages=1, delay_ms=5_000).run()
        assert one.captures[0].at - started >= 0.2
    [tried] = ledger.results[0].tries
    assert (tried.lease_id, tried.promised_gap_ms) == ("l1", 7_000)
    assert tried.waited_ms is not None
    assert tried.waited_ms >= 200


@pytest.mark.parametrize("status", [429, 503])
def test_host_that_asks_for_rest_gets_it_once(ledger: FakeLedger, status: int) -> None:
    with FakeEndpoint([site_status(status, 300), success]) as one:
        round_ = Round(ledger, [one.url], pages=3, delay_ms=50)
        round_.run()
    assert round_.outcomes()[0] == ("failed", f"http_error: HTTP {status}")
    assert gaps(one)[0] >= 0.3
    assert 0.05 <= gaps(one)[1] < 0.3
    assert [result.tries[0].promised_gap_ms for result in ledger.results] == [50, 300, 50]


def test_rest_shorter_than_our_delay_does_not_shorten_it(ledger: FakeLedger) -> None:
    with FakeEndpoint([site_status(503, 10), success]) as one:
        Round(ledger, [one.url], pages=2, delay_ms=200).run()
    assert gaps(one)[0] >= 0.2
    assert [result.tries[0].promised_gap_ms for result in ledger.results] == [200, 200]


def test_each_try_carries_the_gap_that_its_host_was_promised(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy, failure("internal"), success]) as one:
        Round(ledger, [one.url], delay_ms=40).run()
    [result] = ledger.results
    assert [(one.outcome, one.promised_gap_ms) for one in result.tries] == [
        ("busy", 40),
        ("failed: it failed", 40),
        ("success", 40),
    ]


def test_rest_over_the_limit_skips_the_rest_of_the_host(ledger: FakeLedger) -> None:
    with FakeEndpoint([site_status(429, 60_001)]) as one:
        round_ = Round(ledger, [one.url], pages=3, facts=facts(max_host_delay_ms=60_000))
        round_.run()
        assert len(one.captures) == 1
    reason = "host-delay-too-long: Retry-After asks for 60001 ms, over the limit of 60000 ms"
    assert round_.outcomes() == [("failed", "http_error: HTTP 429"), ("skipped", reason), ("skipped", reason)]
