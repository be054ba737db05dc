"""Each result is told to the ledger, whatever its mood."""

import pytest

from blocks.clients.errors import ServiceRefused
from flows.errors import LedgerUnavailable
from flows.host_round import HostSummary
from tests.fakes.endpoints import FakeEndpoint, success
from tests.fakes.http_server import Asked, Reply
from tests.fakes.ledger import FakeLedger
from tests.unit.flows.round import HOST, Round


def test_each_result_is_told_as_soon_as_it_exists(ledger: FakeLedger) -> None:
    seen: list[int] = []

    def turn(asked: Asked) -> Reply:
        seen.append(len(ledger.results))
        return success(asked)

    with FakeEndpoint([turn]) as one:
        Round(ledger, [one.url], pages=3).run()
    assert seen == [0, 1, 2]
    assert [len(asked.body["results"]) for asked in ledger.of("POST", "/results")] == [1, 1, 1]
    assert ledger.of("POST", "/results")[0].body["runId"] == "run"


def test_ledger_that_comes_back_gets_the_result_once_more(ledger: FakeLedger) -> None:
    refused: list[Asked] = []

    def away(asked: Asked) -> Reply:
        refused.append(asked)
        if len(refused) == 3:
            del ledger.answers["POST /results"]
        return Reply(503, {"error": "busy"})

    ledger.answers["POST /results"] = away
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url])
        round_.run()
        assert len(one.captures) == 1
    assert round_.outcomes() == [("captured", None)]


def test_ledger_away_beyond_the_budget_ends_the_host(ledger: FakeLedger) -> None:
    ledger.answers["POST /results"] = lambda asked: Reply(cut=True)
    said = r"1 page result not taken within 0 s: ledger"
    with FakeEndpoint() as one, pytest.raises(LedgerUnavailable, match=said):
        Round(ledger, [one.url], pages=2).run()
    assert len(one.captures) == 1


def test_ledger_that_refuses_a_result_is_not_asked_again(ledger: FakeLedger) -> None:
    ledger.answers["POST /results"] = lambda asked: Reply(400, {"error": "bad", "fields": []})
    with FakeEndpoint() as one, pytest.raises(ServiceRefused, match="400"):
        Round(ledger, [one.url]).run()
    assert len(ledger.of("POST", "/results")) == 1


def test_ledger_that_says_stop_ends_the_host_and_leaves_the_rest_pending(ledger: FakeLedger) -> None:
    ledger.stop = "the crawl was cancelled"
    with FakeEndpoint() as one:
        round_ = Round(ledger, [one.url], pages=3)
        summary = round_.run()
        assert len(one.captures) == 1
    assert summary == HostSummary(HOST, captured=1, failed=0, skipped=0, pending=2)
    assert round_.stop.reason == "the crawl was cancelled"
    assert round_.stop.cancelled
