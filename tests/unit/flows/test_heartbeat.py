"""The sign of life: it comes, it obeys, and a ledger that is away does not end the level."""

import logging
import time
from collections.abc import Callable

import pytest

from blocks.clients.ledger import LedgerClient
from flows.delivery import Delivery
from flows.heartbeat import Heartbeat
from flows.stop import StopSignal
from tests.fakes.http_server import Reply
from tests.fakes.ledger import TOKEN, FakeLedger
from tests.unit.flows.round import facts

LOG = logging.getLogger("test")


def beating(client: LedgerClient, stop: StopSignal) -> Heartbeat:
    """A heartbeat of 50 a second."""
    return Heartbeat(Delivery(client, facts(), stop, LOG), every_ms=20, log=LOG)


def until(look: Callable[[], object]) -> None:
    """Poll for half a minute."""
    ends_at = time.monotonic() + 30
    while time.monotonic() < ends_at:
        if look():
            return
        time.sleep(0.005)
    pytest.fail("not in time")


def test_heartbeat_comes_again_and_again_and_ends_with_its_block(ledger: FakeLedger) -> None:
    with LedgerClient(ledger.url, TOKEN, "") as client:
        with beating(client, StopSignal()):
            until(lambda: ledger.beats >= 3)
        beats = ledger.beats
        time.sleep(0.1)
        assert ledger.beats == beats


def test_heartbeat_obeys_a_stop_with_its_reason(ledger: FakeLedger) -> None:
    stop = StopSignal()
    ledger.stop = "superseded"
    with LedgerClient(ledger.url, TOKEN, "") as client, beating(client, stop):
        until(lambda: stop.cancelled)
    assert stop.reason == "superseded"


def test_heartbeat_of_a_level_that_is_closing_speaks_and_no_longer_obeys(ledger: FakeLedger) -> None:
    stop = StopSignal()
    with LedgerClient(ledger.url, TOKEN, "") as client, beating(client, stop) as heartbeat:
        heartbeat.stop_obeying()
        until(lambda: ledger.beats)
        ledger.stop = "the crawl is at the next level"
        beats = ledger.beats
        until(lambda: ledger.beats >= beats + 3)
    assert not stop.is_set


def test_heartbeat_outlives_a_ledger_that_is_away(ledger: FakeLedger, caplog: pytest.LogCaptureFixture) -> None:
    ledger.answers["POST /results"] = lambda asked: Reply(503, {"error": "starting"})
    stop = StopSignal()
    with LedgerClient(ledger.url, TOKEN, "") as client, caplog.at_level("WARNING"), beating(client, stop):
        until(lambda: "sign of life not taken" in caplog.text)
        del ledger.answers["POST /results"]
        until(lambda: ledger.beats)
    assert not stop.is_set


def test_first_reason_to_stop_is_kept_and_cancelling_still_hangs_up() -> None:
    stop = StopSignal()
    stop.set("a host failed", hang_up=False)
    assert (stop.is_set, stop.cancelled) == (True, False)
    stop.set("cancelled", hang_up=True)
    assert (stop.reason, stop.cancelled) == ("a host failed", True)
