"""The sink's token is renewed in time, and a ledger that is away costs no page."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from blocks.clients.ledger import LedgerClient
from comity.contract.ledger import WorkOrder
from flows.rules.facts import LevelFacts, level_facts
from flows.rules.pacing import Pacing, sink_is_due
from flows.sink_grant import SinkGrant
from flows.stop import Stopwatch
from tests.fakes.endpoints import FakeEndpoint
from tests.fakes.http_server import Reply
from tests.fakes.ledger import TOKEN, FakeLedger, work_order
from tests.unit.flows.round import FAST, HOST, Round

LOG = logging.getLogger("test")
URL = "http://127.0.0.1:1/api/sink/c1"


class Aged(Stopwatch):
    """One that was started so long ago."""

    def __init__(self, age_ms: int) -> None:
        super().__init__()
        self._started -= age_ms / 1000


def order(token: str) -> dict[str, Any]:
    return work_order([f"http://{HOST}/"], artifactSink={"url": URL, "token": token})


def facts_of(wire: dict[str, Any]) -> LevelFacts:
    return level_facts(WorkOrder.model_validate(wire), None, run_id="run", pacing=FAST)


@pytest.fixture
def ledger() -> Iterator[FakeLedger]:
    """Its next order has the second token."""
    with FakeLedger(order("second")) as fake:
        yield fake


@pytest.fixture
def client(ledger: FakeLedger) -> Iterator[LedgerClient]:
    with LedgerClient(ledger.url, TOKEN, "") as opened:
        yield opened


def token_of(grant: SinkGrant) -> str:
    sink = grant.current()
    assert sink is not None
    return sink.token


@pytest.mark.parametrize(
    ("age_ms", "due"),
    [(0, False), (10_199_999, False), (10_200_000, True), (20_000_000, True), (None, True)],
)
def test_token_is_due_ten_minutes_before_its_three_hours_are_over(age_ms: int | None, due: bool) -> None:
    assert sink_is_due(Pacing(), age_ms) is due


def test_token_is_renewed_in_time_and_only_then(ledger: FakeLedger, client: LedgerClient) -> None:
    assert token_of(SinkGrant(facts_of(order("first")), client, LOG, Stopwatch())) == "first"
    assert ledger.asked == []
    grant = SinkGrant(facts_of(order("first")), client, LOG, Aged(10_200_000))
    assert [token_of(grant) for _ in range(3)] == ["second"] * 3
    assert len(ledger.asked) == 1


def test_process_that_does_not_know_the_age_fetches_its_own(client: LedgerClient) -> None:
    assert token_of(SinkGrant(facts_of(order("first")), client, LOG, None)) == "second"


@pytest.mark.parametrize("reply", [Reply(503), Reply(409, {"error": "stale"}), Reply(cut=True), Reply(body={})])
def test_ledger_that_gives_no_order_leaves_the_old_token(
    ledger: FakeLedger, client: LedgerClient, reply: Reply
) -> None:
    ledger.answers["GET /0"] = lambda _: reply
    grant = SinkGrant(facts_of(order("first")), client, LOG, None)
    assert token_of(grant) == "first"
    ledger.answers.clear()
    assert token_of(grant) == "second"


def test_level_without_a_sink_asks_nobody(ledger: FakeLedger, client: LedgerClient) -> None:
    grant = SinkGrant(facts_of(work_order([f"http://{HOST}/"])), client, LOG, None)
    assert grant.current() is None
    assert ledger.asked == []


def test_captures_are_given_the_sink(ledger: FakeLedger) -> None:
    with FakeEndpoint() as endpoint:
        Round(ledger, [endpoint.url], facts=facts_of(order("first"))).run()
        assert endpoint.captures[0].body["artifactSink"] == {"url": URL, "token": "first"}


def test_token_is_not_in_what_facts_print() -> None:
    assert "first-secret" not in repr(facts_of(order("first-secret")))
