"""How long to wait, and for how long to go on waiting."""

from dataclasses import dataclass

from comity.contract.capture import CALLER_DEADLINE_MS
from comity.contract.identity import SINK_RENEW_MS, SINK_TOKEN_MS

RUN_HEARTBEAT_S = 30
"""How often a flow run tells Prefect that it lives: the shortest that Prefect allows, whose default is 180 s."""
RUN_SILENCE_S = 3 * RUN_HEARTBEAT_S
"""After so long without one, the run's process is gone."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """Every budget of a level, in one place."""

    capture_deadline_ms: int = CALLER_DEADLINE_MS
    """130 s for a capture, 10 s for its manifest, 5 s for the way there and back."""
    connect_timeout_ms: int = 5_000
    busy_wait_min_ms: int = 500
    busy_wait_max_ms: int = 1_500
    """At random between the two, so that hosts which wait for the same browser do not ask in step."""
    busy_budget_ms: int = 600_000
    """All endpoints busy for so long, for one page: something else holds them."""
    unreachable_wait_ms: int = 30_000
    unreachable_rounds: int = 2
    """A part that restarts is back within this; one that is not is down."""
    result_budget_ms: int = 60_000
    """How long a result is offered to a ledger that does not take it. With the capture's deadline it bounds how long a
    run that is cut off still visits pages; the ledger counts on that."""
    result_retry_ms: int = 1_000
    close_budget_ms: int = 120_000
    """The same for closing the level; its answer is stored, so a repeat is safe."""
    lease_renew_ms: int = 30_000
    """A lease lasts 300 s; several renewals may get lost."""
    gate_ask_ms: int = 100
    """The shortest pause between two questions to the host gate, which says itself how long to wait."""
    gate_budget_ms: int = 1_800_000
    """Others have a host for so long: three crawls in turns, each after the longest delay that there is (600 s)."""
    heartbeat_ms: int = 10_000
    """After two that were missed the ledger believes Prefect that the run has crashed; the silence that it takes for
    death on its own word holds four of them at the least."""
    sink_token_ms: int = SINK_TOKEN_MS
    sink_renew_ms: int = SINK_RENEW_MS
    """With less than this left of the sink's token, the work order is fetched again."""
    hook_budget_ms: int = 20_000
    """How long a failure hook offers its reason; beyond that the ledger finds out by itself."""


def gap_ms(delay_ms: int, since_finish_ms: int | None) -> int:
    """What remains of our own gap since the last capture of this host finished; None: there was none yet."""
    return 0 if since_finish_ms is None else max(0, delay_ms - since_finish_ms)


def wait_before_ms(own_ms: int, *others_ms: int) -> int:
    """Whoever asks for the longest wait gets it."""
    return max(0, own_ms, *others_ms)


def rest_ms(delay_ms: int, retry_after_ms: int | None) -> int:
    """How long a host rests after it answered 429 or 503."""
    return max(delay_ms, retry_after_ms or 0)


def sink_is_due(pacing: Pacing, age_ms: int | None) -> bool:
    """Whether the sink's token is to be renewed; None: nobody knows how old it is."""
    return age_ms is None or age_ms >= pacing.sink_token_ms - pacing.sink_renew_ms


def busy_wait_ms(pacing: Pacing, fraction: float) -> int:
    """How long to wait when all endpoints are busy; `fraction` is a random number from 0 up to 1."""
    return pacing.busy_wait_min_ms + round((pacing.busy_wait_max_ms - pacing.busy_wait_min_ms) * fraction)
