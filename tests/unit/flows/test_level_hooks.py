"""What the ledger is told when a run ends badly, called as Prefect's engine and worker call it."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.settings import PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

import flows.level_hooks
from blocks.clients.ledger import LedgerClient
from blocks.errors import BlockUnreadable
from flows.crawl_level import crawl_level
from flows.level_hooks import fence_of, tell_cancelled, tell_crashed, tell_failed
from flows.rules.pacing import Pacing
from tests.fakes.http_server import Asked, Reply
from tests.fakes.ledger import CRAWL, TOKEN, FakeLedger

Hook = Callable[[Flow[..., Any], FlowRun, State[Any]], None]


class Connection:
    """Stands where the Block stands: there is no Prefect here."""

    def __init__(self, url: str) -> None:
        self.url = url

    def client(self) -> LedgerClient:
        """A client of the ledger."""
        return LedgerClient(self.url, TOKEN, "")


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLedger]:
    """A ledger that the hooks find, and a short budget."""
    monkeypatch.setattr(flows.level_hooks, "Pacing", lambda: Pacing(hook_budget_ms=300, result_retry_ms=20))
    # Without a server to log to, Prefect would start one of its own.
    with FakeLedger() as fake, temporary_settings({PREFECT_LOGGING_TO_API_ENABLED: False}):
        monkeypatch.setattr(flows.level_hooks, "load_ledger", lambda: Connection(fake.url))
        yield fake


def flow_run(**parameters: Any) -> FlowRun:
    """A run with these parameters."""
    return FlowRun(id=uuid.uuid4(), flow_id=uuid.uuid4(), name="r", parameters=parameters)


def call(hook: Hook, run: FlowRun, kind: StateType, message: str | None) -> None:
    """As Prefect calls it."""
    hook(crawl_level, run, State(type=kind, message=message))


@pytest.mark.parametrize(
    ("hook", "kind", "message", "outcome", "reason"),
    [
        (tell_failed, StateType.FAILED, "[compile] 1 diagnostic", "failed", "[compile] 1 diagnostic"),
        (
            tell_failed,
            StateType.FAILED,
            "Flow run encountered an exception: StepFailed: [plan] no",
            "failed",
            "[plan] no",
        ),
        (tell_failed, StateType.FAILED, "Validation of parameters failed", "failed", "[run] Validation of"),
        (tell_failed, StateType.FAILED, None, "failed", "[run] no message"),
        (tell_crashed, StateType.CRASHED, "exit code: -9", "crashed", "[run] crashed: exit code: -9"),
        (
            tell_crashed,
            StateType.CRASHED,
            "Execution was aborted by a termination signal.",
            "stopped",
            "[run] stopped: Execution was aborted",
        ),
        (tell_cancelled, StateType.CANCELLING, None, "cancelled", "[run] cancelled: in Prefect"),
    ],
)
def test_hook_tells_outcome_and_reason_with_the_runs_fence(
    ledger: FakeLedger, hook: Hook, kind: StateType, message: str | None, outcome: str, reason: str
) -> None:
    run = flow_run(crawl_id=CRAWL, depth=2, attempt=3)
    call(hook, run, kind, message)
    [told] = ledger.failures
    assert (told.depth, told.attempt, told.run_id) == (2, 3, str(run.id))
    assert told.outcome == outcome
    assert told.reason.startswith(reason)


def test_hook_cuts_a_long_reason_to_what_the_ledger_takes(ledger: FakeLedger) -> None:
    call(tell_failed, flow_run(crawl_id=CRAWL, depth=0), StateType.FAILED, "[plan] " + "x" * 5000)
    assert len(ledger.failures[0].reason) == 2000


def test_hook_asks_again_where_the_ledger_is_away_for_a_moment(ledger: FakeLedger) -> None:
    refused: list[Asked] = []

    def away(asked: Asked) -> Reply:
        refused.append(asked)
        if len(refused) == 2:
            del ledger.answers["POST /failed"]
        return Reply(503, {"error": "starting"})

    ledger.answers["POST /failed"] = away
    call(tell_crashed, flow_run(crawl_id=CRAWL, depth=0), StateType.CRASHED, "x")
    assert len(ledger.failures) == 1


@pytest.mark.parametrize("answer", [Reply(409, {"error": "stale"}), Reply(503, {"error": "away"})])
def test_hook_never_raises_where_the_ledger_does_not_take_it(ledger: FakeLedger, answer: Reply) -> None:
    ledger.answers["POST /failed"] = lambda asked: answer
    call(tell_failed, flow_run(crawl_id=CRAWL, depth=0), StateType.FAILED, "x")
    assert ledger.failures == []


def test_hook_never_raises_without_a_block(ledger: FakeLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise BlockUnreadable("ledger-connection/comity", "there is none")

    monkeypatch.setattr(flows.level_hooks, "load_ledger", missing)
    call(tell_failed, flow_run(crawl_id=CRAWL, depth=0), StateType.FAILED, "x")
    assert ledger.asked == []


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"crawl_id": CRAWL},
        {"crawl_id": CRAWL, "depth": "x"},
        {"crawl_id": "", "depth": 0},
        {"crawl_id": 5, "depth": 0},
    ],
)
def test_run_without_sensible_parameters_has_nothing_to_tell(parameters: dict[str, Any]) -> None:
    assert fence_of(flow_run(**parameters), "failed", "x") is None


def test_attempt_left_out_is_the_first() -> None:
    told = fence_of(flow_run(crawl_id=CRAWL, depth=0), "failed", "x")
    assert told is not None
    assert told[1].attempt == 1
