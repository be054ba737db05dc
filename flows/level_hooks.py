"""What is told to the ledger when a level's run ends badly.

Short, safe to repeat, and free of what the run had in hand: after a SIGKILL the worker calls `on_crashed` in its own
process, where nothing of the run is left but its parameters. The ledger's own check of the run is the guarantee; these
make it quick.
"""

import re
import threading
from collections.abc import Callable
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging.loggers import flow_run_logger

from blocks.clients.errors import ServiceError, ServiceRefused
from blocks.errors import BlockUnreadable
from blocks.load import load_ledger
from comity.contract.ledger import TOLD_TO_END, RunFailed, RunFailedAnswer, RunOutcome
from flows.delivery import passing
from flows.rules.pacing import Pacing
from flows.rules.reasons import one_line, step_reason
from flows.stop import Stopwatch

CALL_TIMEOUT_MS = 5_000
_STEP = re.compile(r"\[[a-z_]+\] ")


def tell_failed(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """The run raised: the reason is its exception, `[step] message`."""
    _tell(flow, flow_run, "failed", _reason_of(state))


def tell_crashed(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """The run's process ended without a word, or was told to end with its machine."""
    outcome: RunOutcome = "stopped" if (state.message or "").startswith(TOLD_TO_END) else "crashed"
    _tell(flow, flow_run, outcome, step_reason("run", f"{outcome}: {state.message or 'its process ended'}"))


def tell_cancelled(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Somebody cancelled the run in Prefect, or the ledger cancelled the crawl."""
    _tell(flow, flow_run, "cancelled", step_reason("run", f"cancelled: {state.message or 'in Prefect'}"))


def _reason_of(state: State[Any]) -> str:
    """The state's message; where Prefect put words before `[step]`, from there."""
    message = state.message or "no message"
    begins = _STEP.search(message)
    return one_line(message[begins.start() :]) if begins else step_reason("run", message)


def _tell(flow: Flow[..., Any], flow_run: FlowRun, outcome: RunOutcome, reason: str) -> None:
    log = flow_run_logger(flow_run, flow)
    told = fence_of(flow_run, outcome, reason)
    if told is None:
        log.warning("the ledger is not told: the run's parameters name no crawl, depth and attempt")
        return
    crawl_id, report = told
    try:
        with load_ledger().client() as ledger:
            answer = _insist(lambda: ledger.failed(crawl_id, report, timeout_ms=CALL_TIMEOUT_MS))
    except ServiceRefused as error:
        log.info("the ledger is told that the run %s; it answers %s: %s", outcome, error.status, error.message)
    except (ServiceError, BlockUnreadable, ValueError) as error:
        log.warning("the ledger could not be told that the run %s (it finds out by itself): %s", outcome, error)
    else:
        log.info("the ledger is told that the run %s: %s; %s", outcome, reason, _follows(answer))


def fence_of(flow_run: FlowRun, outcome: RunOutcome, reason: str) -> tuple[str, RunFailed] | None:
    """Which crawl to speak of, and what to say; None where the run was started without sensible parameters."""
    parameters = flow_run.parameters or {}
    crawl_id, depth, attempt = parameters.get("crawl_id"), parameters.get("depth"), parameters.get("attempt", 1)
    if not isinstance(crawl_id, str) or not isinstance(depth, int) or not isinstance(attempt, int):
        return None
    if not crawl_id or depth < 0 or attempt < 1:
        return None
    return crawl_id, RunFailed(
        depth=depth, attempt=attempt, run_id=str(flow_run.id), outcome=outcome, reason=one_line(reason)
    )


def _follows(answer: RunFailedAnswer) -> str:
    if answer.next_attempt is not None:
        return f"attempt {answer.next_attempt} at the level follows"
    return "the crawl has ended" if answer.closed else "it did not speak for the crawl any more"


def _insist(call: Callable[[], RunFailedAnswer]) -> RunFailedAnswer:
    pacing, watch, never = Pacing(), Stopwatch(), threading.Event()
    while True:
        try:
            return call()
        except ServiceError as error:
            if not passing(error) or watch.elapsed_ms >= pacing.hook_budget_ms:
                raise
            never.wait(pacing.result_retry_ms / 1000)
