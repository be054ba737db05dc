"""Which failures of a page are tried again, and what a run of them means for its host."""

import dataclasses

import pytest

from flows.errors import ServerUnavailable
from flows.host_round import HostSummary
from tests.fakes.endpoints import FakeEndpoint, Turn, failure, lost, refusal, site_status, slow, success
from tests.fakes.http_server import Reply
from tests.fakes.ledger import FakeLedger
from tests.unit.flows.round import FAST, HOST, Round, facts, gaps


@pytest.mark.parametrize("kind", ["connection", "timeout", "internal"])
def test_passing_failure_is_tried_once_more_after_the_same_gap(ledger: FakeLedger, kind: str) -> None:
    with FakeEndpoint([failure(kind), success]) as one:
        Round(ledger, [one.url], delay_ms=150).run()
    [result] = ledger.results
    assert result.status == "captured"
    assert [one.outcome for one in result.tries] == ["failed: it failed", "success"]
    assert [one.task_id for one in result.tries] == [f"t-{one.body['correlationId']}" for one in one.captures]
    assert gaps(one)[0] >= 0.15


@pytest.mark.parametrize("kind", ["artifact_sink", "policy", "signing", "http", "cancelled"])
def test_lasting_failure_is_never_tried_again(ledger: FakeLedger, kind: str) -> None:
    with FakeEndpoint([failure(kind)]) as one:
        round_ = Round(ledger, [one.url])
        round_.run()
        assert len(one.captures) == 1
    assert round_.outcomes() == [("failed", "failed: it failed")]
    assert ledger.results[0].manifest_location


def test_failure_twice_is_the_pages_failure_and_stops_nothing_else(ledger: FakeLedger) -> None:
    with FakeEndpoint([failure("internal"), failure("internal"), success]) as one:
        round_ = Round(ledger, [one.url], pages=2)
        summary = round_.run()
    assert round_.outcomes() == [("failed", "failed: it failed"), ("captured", None)]
    assert summary == HostSummary(HOST, captured=1, failed=1, skipped=0, pending=0)


def test_connection_lost_after_sending_is_tried_once_more_after_the_gap(ledger: FakeLedger) -> None:
    with FakeEndpoint([lost, success]) as one:
        round_ = Round(ledger, [one.url], delay_ms=120)
        round_.run()
    assert round_.outcomes() == [("captured", None)]
    assert ledger.results[0].tries[0].outcome.startswith("connection lost after sending")
    assert gaps(one)[0] >= 0.12


def test_connection_lost_twice_is_a_failed_page_without_task(ledger: FakeLedger) -> None:
    with FakeEndpoint([lost]) as one:
        Round(ledger, [one.url]).run()
        assert len(one.captures) == 2
    [result] = ledger.results
    assert (result.status, result.task_id, result.manifest_location) == ("failed", None, None)


def test_deadline_is_a_failed_page_that_goes_to_no_other_endpoint(ledger: FakeLedger) -> None:
    with FakeEndpoint([slow(30)]) as one, FakeEndpoint() as two:
        round_ = Round(ledger, [one.url, two.url], facts=facts(dataclasses.replace(FAST, capture_deadline_ms=200)))
        round_.run()
        assert two.captures == []
        assert len(one.captures) == 1
    assert round_.outcomes() == [("failed", "deadline 200 ms passed")]
    assert ledger.results[0].task_id is None


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (refusal(400, "ValidationException", "url: too long"), "400 ValidationException: url: too long"),
        (refusal(500, "InternalFailure", "no disk"), "500 InternalFailure: no disk"),
    ],
)
def test_refusal_is_a_failed_page_and_the_next_page_goes_on(ledger: FakeLedger, turn: Turn, reason: str) -> None:
    with FakeEndpoint([turn, success]) as one:
        round_ = Round(ledger, [one.url], pages=2)
        round_.run()
    assert round_.outcomes() == [("failed", reason), ("captured", None)]
    assert ledger.results[0].task_id is None


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (refusal(401, "UnauthorizedException", "the bearer token is wrong"), "401: the bearer token is wrong"),
        (lambda asked: Reply(404, {"message": "no such page"}), "404: no such page"),
    ],
)
def test_server_that_takes_no_page_from_us_is_unreachable_and_no_page_fails(
    ledger: FakeLedger, turn: Turn, said: str
) -> None:
    with FakeEndpoint([turn]) as one, FakeEndpoint() as two:
        round_ = Round(ledger, [one.url, two.url], pages=4)
        round_.run()
        assert len(two.captures) == 4
        with pytest.raises(ServerUnavailable, match=said):
            Round(FakeLedger(), [one.url]).run()
    assert [status for status, _ in round_.outcomes()] == ["captured"] * 4


def test_second_try_begins_at_another_endpoint(ledger: FakeLedger) -> None:
    with FakeEndpoint([failure("internal")]) as one, FakeEndpoint() as two:
        round_ = Round(ledger, [one.url, two.url])
        round_.run()
        assert (len(one.captures), len(two.captures)) == (1, 1)
    assert round_.outcomes() == [("captured", None)]


def test_five_connection_failures_in_a_row_skip_the_rest(ledger: FakeLedger) -> None:
    with FakeEndpoint([failure("connection")]) as one:
        round_ = Round(ledger, [one.url], pages=6)
        summary = round_.run()
        assert len(one.captures) == 6  # the page in hand still had its second try
    assert [status for status, _ in round_.outcomes()] == ["failed"] * 3 + ["skipped"] * 3
    assert all(reason and reason.startswith("host-unreachable") for _, reason in round_.outcomes()[3:])
    assert summary.skipped == 3


def test_four_connection_failures_and_an_answer_skip_nothing(ledger: FakeLedger) -> None:
    turns = [failure("connection")] * 4 + [site_status(404)] + [failure("connection")] * 4 + [success]
    with FakeEndpoint(turns) as one:
        round_ = Round(ledger, [one.url], pages=6)
        round_.run()
    assert [status for status, _ in round_.outcomes()] == ["failed"] * 5 + ["captured"]
