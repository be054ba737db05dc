"""One level of a crawl: work order -> plan -> compile -> hosts -> report -> index.

The ledger repeats, never this flow: it ends after one level, and the conditions to stop live where they are tested as
pure rules. Nothing but crawl, depth and attempt is a parameter; policy, frontier and scripts come with the work order,
addresses and secrets from the Blocks named `comity`.
"""

from collections.abc import Sequence
from typing import Any

from prefect import flow, unmapped
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed

from blocks.load import ComityBlocks, load_blocks
from comity.contract.ledger import LevelClosed, WorkOrder
from flows.crawl_host import crawl_host
from flows.delivery import Delivery
from flows.errors import StepFailed, Stopped
from flows.heartbeat import Heartbeat
from flows.host_round import HostSummary
from flows.level_hooks import tell_cancelled, tell_crashed, tell_failed
from flows.level_resources import LevelResources, opened
from flows.level_steps import compile_step, index_step, plan_step, report_step, step, work_order
from flows.rules.facts import LevelFacts, level_facts
from flows.rules.pacing import Pacing
from flows.rules.plan import HostPlan, LevelPlan
from flows.rules.reasons import one_line
from flows.rules.results import skipped
from flows.runner import level_runner
from flows.sink_grant import SinkGrant
from flows.stop import Stopwatch

PACING = Pacing()


def run_name() -> str:
    """The name that the ledger gave the run, for it knows the hosts; else crawl, level and attempt."""
    given, named = flow_run.get_name() or "", flow_run.get_parameters() or {}
    if str(named.get("crawl_id")) in given:
        return given
    return f"{named.get('crawl_id')} level {named.get('depth')} attempt {named.get('attempt', 1)}"


@flow(
    name="crawl-level",
    flow_run_name=run_name,
    on_failure=[tell_failed],
    on_crashed=[tell_crashed],
    on_cancellation=[tell_cancelled],
    retries=0,
    persist_result=False,
)
def crawl_level(crawl_id: str, depth: int, attempt: int = 1) -> State[Any]:
    """Capture the pages of one level of a crawl. Started by the ledger; start crawls with `trigger-crawl`.

    Args:
        crawl_id: The crawl, as the ledger names it.
        depth: The level: 0 for the seeds, 1 for the pages that they link to, and so on.
        attempt: Counts the runs of this level. A run that is not the current one ends at once and changes nothing.
    """
    try:
        return _run(crawl_id, depth, attempt)
    except StepFailed as error:
        if error.unexpected:
            get_run_logger().error("a fault of this program", exc_info=error.__cause__)
        return Failed(message=str(error))


def _run(crawl_id: str, depth: int, attempt: int) -> State[Any]:
    """The order first, before any robots.txt. Raises StepFailed."""
    run_id = str(flow_run.get_id() or "")
    with step("blocks"):
        blocks = load_blocks()
    with opened(run_id, blocks) as level:
        with step("work_order"):
            order = work_order(level.ledger, crawl_id, depth, attempt, run_id=run_id, pacing=PACING)
        if order is None:
            return Completed(name="Stale", message=f"stale attempt {attempt} of level {depth}: nothing was done")
        try:
            return _level(order, blocks, level, run_id)
        except Stopped:
            return Cancelled(message=one_line(f"stopped: {level.stop.reason}"))


def _level(order: WorkOrder, blocks: ComityBlocks, level: LevelResources, run_id: str) -> State[Any]:
    """The level under its heartbeat. Raises StepFailed, Stopped."""
    log = get_run_logger()
    bare = level_facts(order, None, run_id=run_id, pacing=PACING)
    level.sink = SinkGrant(bare, level.ledger, log, Stopwatch())
    delivery = Delivery(level.ledger, bare, level.stop, log)
    with Heartbeat(delivery, every_ms=PACING.heartbeat_ms, log=log) as heartbeat:
        with step("plan"):
            plan = plan_step(order, blocks.endpoints.slots, level)
        level.stop.check()
        with step("compile"), blocks.compiler.client() as compiler:
            scripts = compile_step(order, compiler)
        level.stop.check()
        facts = level_facts(order, scripts, run_id=run_id, pacing=PACING)
        try:
            with step("crawl_host"):
                delivery.deliver([skipped(one.page, one.reason) for one in plan.skipped])
                summaries = _hosts(plan, facts, level)
        except StepFailed:
            index_step(order.crawl_id, level.ledger)  # what was received is admitted, and worth finding
            raise
        level.stop.check()
        heartbeat.stop_obeying()
        with step("report"):
            closed = report_step(facts, scripts, level)
        index_step(order.crawl_id, level.ledger)
    return Completed(message=_said(summaries, plan, closed))


def _hosts(plan: LevelPlan, facts: LevelFacts, level: LevelResources) -> list[HostSummary]:
    """All hosts, so many at once as the plan says; waited for also where one of them fails."""
    if not plan.hosts:
        return []
    with level_runner(plan.parallelism) as runner:
        try:
            parameters = {"plan": list(plan.hosts), "facts": unmapped(facts)}
            futures = runner.map(crawl_host, parameters)  # type: ignore[arg-type]  # Task is invariant, a sync one fits
            outcomes = [future.result(raise_on_failure=False) for future in futures]
        except BaseException:
            # Cancellation arrives here as a BaseException; without this the hosts' threads would run to their end.
            level.stop.set("the run was cancelled", hang_up=True)
            raise
    failures = [
        (host, outcome)
        for host, outcome in zip(plan.hosts, outcomes, strict=True)
        if not isinstance(outcome, HostSummary)
    ]
    if failures:
        raise StepFailed("crawl_host", _first_cause(failures, level))
    return [outcome for outcome in outcomes if isinstance(outcome, HostSummary)]


def _first_cause(failures: Sequence[tuple[HostPlan, Any]], level: LevelResources) -> str:
    """The failure that stopped the others, else the first; and how many hosts failed."""
    more = f" ({len(failures)} hosts failed)" if len(failures) > 1 else ""
    host, error = failures[0]
    return f"{level.stop.reason or f'{host.host}: {error}'}{more}"


def _said(summaries: Sequence[HostSummary], plan: LevelPlan, closed: LevelClosed) -> str:
    captured = sum(one.captured for one in summaries)
    failed = sum(one.failed for one in summaries)
    left_out = sum(one.skipped for one in summaries) + len(plan.skipped)
    after = f"the crawl ends: {closed.stop_reason}" if closed.stop_reason else f"{len(closed.next)} pages next"
    if closed.again:
        after = f"{closed.again} did not reach the ledger's store and are visited once more"
    return f"{captured} captured, {failed} failed, {left_out} skipped; {after}"
