"""Which capture server takes a page, and what becomes of one that none takes."""

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from flows.errors import ServerUnavailable
from tests.fakes.certificates import authority
from tests.fakes.endpoints import FakeEndpoint, busy, success
from tests.fakes.ledger import FakeLedger
from tests.fakes.ports import dead_url
from tests.unit.flows.round import FAST, Round, facts, gaps


def test_pages_rotate_over_the_endpoints_and_hosts_begin_apart(ledger: FakeLedger) -> None:
    with FakeEndpoint() as one, FakeEndpoint() as two:
        Round(ledger, [one.url, two.url], pages=4).run()
        assert [asked.body["url"][-1] for asked in one.captures] == ["0", "2"]
        assert [asked.body["url"][-1] for asked in two.captures] == ["1", "3"]
        Round(ledger, [one.url, two.url], place=1).run()
        assert len(two.captures) == 3


def test_busy_endpoint_means_next(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy]) as one, FakeEndpoint() as two:
        Round(ledger, [one.url, two.url]).run()
    [result] = ledger.results
    assert result.status == "captured"
    assert [(one.try_, one.outcome) for one in result.tries] == [(1, "busy"), (2, "success")]
    assert two.captures[0].body["correlationId"].endswith(".p0.1.2")


def test_all_busy_waits_and_goes_round_until_one_is_free(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy, busy, success]) as one, FakeEndpoint([busy]) as two:
        Round(ledger, [one.url, two.url]).run()
    [result] = ledger.results
    assert [one.outcome for one in result.tries] == ["busy"] * 4 + ["success"]
    assert all(0.009 <= gap < 0.5 for gap in gaps(one)), gaps(one)


def test_busy_beyond_the_budget_is_server_unavailable_and_the_page_stays_pending(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy]) as one, pytest.raises(ServerUnavailable, match=rf"busy for 0 s: {one.url}"):
        Round(ledger, [one.url]).run()
    assert ledger.results == []


def test_unreachable_endpoint_is_skipped_for_the_rest_of_the_page(ledger: FakeLedger) -> None:
    with FakeEndpoint([busy, busy, success]) as two:
        round_ = Round(ledger, [dead_url(), two.url])
        round_.run()
    assert round_.outcomes() == [("captured", None)]
    assert {one.endpoint for one in ledger.results[0].tries} == {two.url}


def test_all_unreachable_is_tried_twice_more_then_fails_quoting_each(ledger: FakeLedger) -> None:
    urls = [dead_url(), dead_url()]
    started = time.monotonic()
    with pytest.raises(ServerUnavailable) as caught:
        Round(ledger, urls).run()
    assert time.monotonic() - started >= 2 * 0.06
    assert all(f"{url}: [Errno 111] Connection refused" in str(caught.value) for url in urls)
    assert ledger.results == []


def test_endpoint_that_comes_back_within_the_rounds_is_used(ledger: FakeLedger) -> None:
    url = dead_url()
    back: list[FakeEndpoint] = []
    timer = threading.Timer(0.1, lambda: back.append(FakeEndpoint(port=int(url.rsplit(":", 1)[1]))))
    timer.start()
    pacing = dataclasses.replace(FAST, unreachable_wait_ms=300)
    round_ = Round(ledger, [url], facts=facts(pacing))
    try:
        round_.run()
        assert round_.outcomes() == [("captured", None)]
    finally:
        timer.join()
        back[0].close()


def test_wrong_ca_counts_as_unreachable_and_the_right_one_is_accepted(ledger: FakeLedger, tmp_path: Path) -> None:
    ca = authority()
    with FakeEndpoint(tls=ca.server_context(tmp_path)) as secure:
        with pytest.raises(ServerUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            Round(ledger, [secure.url], ca=authority("another").pem).run()
        assert secure.asked == []
        round_ = Round(ledger, [secure.url], ca=ca.pem)
        round_.run()
    assert round_.outcomes() == [("captured", None)]
