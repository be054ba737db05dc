"""The steps of a level but the hosts, each a Prefect task of its own, so that the UI shows where time goes."""

import contextlib
from collections.abc import Iterator

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from blocks.clients.compiler import CompilerClient
from blocks.clients.errors import CompileRejected, ServiceError, ServiceRefused
from blocks.clients.ledger import LedgerClient
from blocks.errors import BlockUnreadable
from comity.contract.compiler import CompileRequest
from comity.contract.ledger import CloseLevel, LevelClosed, WorkOrder
from flows.delivery import insist
from flows.errors import LevelError, StepFailed, Stopped
from flows.level_resources import LevelResources
from flows.robots_round import robots_rulings
from flows.rules.facts import LevelFacts
from flows.rules.pacing import Pacing
from flows.rules.plan import LevelPlan, plan_level, plan_rows
from flows.rules.reasons import diagnostics_reason
from flows.rules.scripts import RunnableScripts, join
from flows.stop import StopSignal


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Whatever goes wrong in the block is told as `[name] message`."""
    try:
        yield
    except (Stopped, StepFailed):
        raise
    except CompileRejected as error:
        raise StepFailed(name, diagnostics_reason(error.failed.diagnostics)) from error
    except (LevelError, ServiceError, BlockUnreadable, ValueError) as error:
        raise StepFailed(name, str(error)) from error
    except Exception as error:
        raise StepFailed(name, f"{type(error).__name__}: {error}", unexpected=True) from error


def work_order(
    ledger: LedgerClient, crawl_id: str, depth: int, attempt: int, *, run_id: str, pacing: Pacing
) -> WorkOrder | None:
    """What is to be done; None where the ledger says that this run is not the current one (409)."""
    try:
        return insist(
            lambda: ledger.work_order(crawl_id, depth, attempt=attempt, run_id=run_id),
            "the work order was",
            stop=StopSignal(),
            budget_ms=pacing.result_budget_ms,
            retry_ms=pacing.result_retry_ms,
        )
    except ServiceRefused as error:
        if error.status == 409:
            get_run_logger().info("stale attempt: %s", error.message)
            return None
        raise


@task(task_run_name="plan level", cache_policy=NO_CACHE, retries=0, persist_result=False)
def plan_step(order: WorkOrder, slots: int, level: LevelResources) -> LevelPlan:
    """Ask for robots.txt once per host, then plan; the plan is shown as a table artifact."""
    rulings = robots_rulings(order.frontier, level.stop, sitemaps=order.sitemaps) if order.respect_robots else ()
    plan = plan_level(
        order.frontier,
        rulings,
        per_host_delay_ms=order.per_host_delay_ms,
        max_host_delay_ms=order.max_host_delay_ms,
        host_parallelism=order.host_parallelism,
        slots=slots,
        sitemaps=order.sitemaps,
    )
    pages = sum(len(host.pages) for host in plan.hosts)
    title = (
        f"Crawl {order.crawl_id}, level {order.depth}, attempt {order.attempt}: {pages} pages on"
        f" {len(plan.hosts)} hosts, {plan.parallelism} at a time; {len(plan.skipped)} skipped"
    )
    log = get_run_logger()
    log.info(title)
    try:
        create_table_artifact(
            table=plan_rows(plan), key=f"plan-{order.crawl_id}-{order.depth}".lower(), description=title
        )
    except Exception as error:  # it is a picture of the plan, not the plan
        log.warning("the plan's table could not be written: %s", error)
    return plan


@task(task_run_name="compile scripts", cache_policy=NO_CACHE, retries=0, persist_result=False)
def compile_step(order: WorkOrder, compiler: CompilerClient) -> RunnableScripts:
    """One call for all scripts, also for none: the answer names the compiler. Any failure fails the level."""
    answer = compiler.compile(CompileRequest(scripts=order.scripts))
    get_run_logger().info("%s scripts compiled by TypeScript %s", len(answer.scripts), answer.typescript)
    return join(order.scripts, answer)


@task(task_run_name="report level", cache_policy=NO_CACHE, retries=0, persist_result=False)
def report_step(facts: LevelFacts, scripts: RunnableScripts, level: LevelResources) -> LevelClosed:
    """Close the level. Every result is with the ledger already, so none is repeated; a repeated closing is safe."""
    closing = CloseLevel(
        depth=facts.depth, attempt=facts.attempt, run_id=facts.run_id, results=[], compiled=scripts.compiled
    )
    closed = insist(
        lambda: level.ledger.close_level(facts.crawl_id, closing),
        "the closing of the level was",
        stop=level.stop,
        budget_ms=facts.pacing.close_budget_ms,
        retry_ms=facts.pacing.result_retry_ms,
    )
    get_run_logger().info("level closed: %s pages next, stop reason %s", len(closed.next), closed.stop_reason)
    return closed


@task(task_run_name="index level", cache_policy=NO_CACHE, retries=0, persist_result=False)
def index_step(crawl_id: str, ledger: LedgerClient) -> None:
    """Make what was captured searchable. A failure is a warning: the ledger indexes by itself what was missed."""
    log = get_run_logger()
    try:
        answer = ledger.index(crawl_id)
    except ServiceError as error:
        log.warning("not indexed: %s", error)
    else:
        log.info("indexed %s of %s pages", answer.indexed, answer.pages)
