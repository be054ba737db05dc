"""Start a crawl and see it through: by hand in the Prefect UI, every night, or on an event.

Its run is red where the crawl failed or was cancelled, and green and `Skipped` where there is nothing to do. Cancelling
the run cancels the crawl.
"""

import time
from typing import Any

from prefect import Flow, flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging import get_run_logger
from prefect.logging.loggers import flow_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from blocks.clients.errors import CrawlInTheWayError, ServiceError, ServiceRefused
from blocks.clients.ledger import LedgerClient
from blocks.errors import BlockUnreadable
from blocks.load import load_ledger
from comity.contract.ledger import Scope, StartCrawl
from flows.delivery import Log, insist
from flows.errors import StepFailed
from flows.level_steps import step
from flows.rules.pacing import Pacing
from flows.rules.reasons import one_line, step_reason
from flows.rules.trigger import Ended, end_of, nothing_to_do, wanted_crawl
from flows.stop import StopSignal, Stopwatch

PACING = Pacing()
POLL_MS = 2_000
AWAY_BUDGET_MS = 300_000
"""The crawl does not need the trigger: one that gave up at once where the ledger restarts would be red for nothing."""
_TAG = "crawl:"


def cancel_crawl(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:  # noqa: ARG001 -- a hook's shape
    """The trigger's run was cancelled: so is the crawl that it started. What was captured stays.

    The worker calls this in its own process, so the crawl is found by the tag that the run got when it started it.
    """
    log = flow_run_logger(flow_run, flow)
    try:
        with get_client(sync_client=True) as prefect:
            tags = prefect.read_flow_run(flow_run.id).tags
        crawl_id = next((tag.removeprefix(_TAG) for tag in tags if tag.startswith(_TAG)), None)
        if crawl_id is None:
            log.info("cancelled before it had started a crawl")
            return
        with load_ledger().trigger_client() as ledger:
            ledger.cancel(crawl_id)
    except (ServiceError, BlockUnreadable, ValueError) as error:
        log.warning("the crawl could not be cancelled with its trigger; cancel it at the ledger: %s", error)
    else:
        log.info("crawl %s is cancelled with its trigger", crawl_id)


def run_name() -> str:
    """What the run is about: its first seed, or the targets."""
    parameters = flow_run.get_parameters() or {}
    seeds = parameters.get("seeds")
    if not isinstance(seeds, list) or not seeds:
        return "crawl of the targets" if parameters.get("from_targets") else "crawl of nothing"
    more = f" and {len(seeds) - 1} more" if len(seeds) > 1 else ""
    return one_line(f"crawl of {seeds[0]}{more}", 100)


@flow(
    name="trigger-crawl",
    flow_run_name=run_name,
    on_cancellation=[cancel_crawl],
    retries=0,
    persist_result=False,
)
def trigger_crawl(  # noqa: PLR0917 -- the parameters are the UI's form, and Prefect passes them by name
    seeds: list[str] | None = None,
    from_targets: bool = False,
    limit: int | None = None,
    scope: Scope = "same-origin",
    max_depth: int | None = None,
    max_pages: int = 30,
    per_host_delay_ms: int = 2000,
    host_parallelism: int = 4,
    respect_robots: bool = True,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    sitemaps: bool = False,
    scripts: list[str | dict[str, Any]] | None = None,
    extractors: list[dict[str, Any]] | None = None,
    max_wait_minutes: int = 1440,
) -> State[Any]:
    """Start a crawl at the ledger, wait for its end, and tell it: green succeeded, red failed or cancelled.

    Green and `Skipped` where another crawl runs already (it is named), or where no target is enabled. Cancelling this
    run cancels the crawl; what was captured stays.

    Args:
        seeds: URLs to begin at, for example `["https://example.org/"]`. Give these, or set from_targets.
        from_targets: Begin at the enabled capture targets of the ledger instead of at seeds.
        limit: With from_targets: at most so many targets. Empty means all.
        scope: Which links are followed: those of the seeds' origin, host, registered domain, or below their paths.
        max_depth: How many levels of links to follow, 0 to 10. Empty means 2, or 0 with from_targets.
        max_pages: The most pages to visit, 1 to 10000; never less than the number of targets.
        per_host_delay_ms: Pause between two pages of one host, in milliseconds, 0 to 600000. A longer pause that the
            site's robots.txt asks for wins.
        host_parallelism: The most hosts to visit at once, 1 to 32; never more than there are browsers.
        respect_robots: Keep to robots.txt. Switch it off only for sites that are yours.
        include: RE2 patterns: follow only links that match one of them, anywhere in the URL; `^` and `$` anchor.
        exclude: RE2 patterns: follow no link that matches one of them. Seeds are visited in any case.
        sitemaps: Also follow what the sitemaps of the seeds' hosts name, after the links of the seeds themselves.
        scripts: Scripts to run inside pages. Empty means the newest version of every enabled one; `[]` means none; a
            list means exactly those, by id, or as {"id": ..., "version": ..., "options": ...}.
        extractors: Extractors to run over the captured pages, each {"id": ..., "urlPattern": ..., "version": ...}; the
            pattern is RE2, `.` for every page. Empty means none.
        max_wait_minutes: How long to wait for the crawl's end. Beyond it this run is red and the crawl goes on.
    """
    log = get_run_logger()
    try:
        with step("start"):
            wanted = wanted_crawl(
                seeds=seeds,
                from_targets=from_targets,
                limit=limit,
                scope=scope,
                max_depth=max_depth,
                max_pages=max_pages,
                per_host_delay_ms=per_host_delay_ms,
                host_parallelism=host_parallelism,
                respect_robots=respect_robots,
                include=include,
                exclude=exclude,
                sitemaps=sitemaps,
                scripts=scripts,
                extractors=extractors,
            )
            ledger = load_ledger().trigger_client()
        with ledger:
            return _see_through(ledger, wanted, max_wait_minutes, log)
    except StepFailed as error:
        return Failed(message=str(error))


def _see_through(ledger: LedgerClient, wanted: StartCrawl, max_wait_minutes: int, log: Log) -> State[Any]:
    run_id = str(flow_run.get_id() or "")
    try:
        with step("start"):
            crawl_id = _start(ledger, wanted, run_id)
    except StepFailed as error:
        cause = error.__cause__
        if isinstance(cause, CrawlInTheWayError):
            since = f"{cause.crawl.started_at:%Y-%m-%d %H:%M:%S} UTC"
            return Completed(name="Skipped", message=f"skipped: crawl {cause.crawl.crawl_id} runs since {since}")
        if isinstance(cause, ServiceRefused) and nothing_to_do(cause.code):
            return Completed(name="Skipped", message=f"skipped: {cause.message}")
        raise
    log.info("crawl %s started", crawl_id)
    _tag(run_id, crawl_id, log)
    with step("wait"):
        ended = _wait(ledger, crawl_id, max_wait_minutes)
    if ended is None:
        message = f"crawl {crawl_id} still runs after {max_wait_minutes} minutes (max_wait_minutes); it goes on"
        return Failed(message=step_reason("wait", message))
    return (
        Completed(message=one_line(ended.said)) if ended.state == "succeeded" else Failed(message=one_line(ended.said))
    )


def _start(ledger: LedgerClient, wanted: StartCrawl, run_id: str) -> str:
    """The crawl's id. The run's id is the key, so that asking again cannot start a second crawl."""
    return insist(
        lambda: ledger.start_crawl(wanted, idempotency_key=run_id).crawl_id,
        "the start of the crawl was",
        stop=StopSignal(),
        budget_ms=PACING.result_budget_ms,
        retry_ms=PACING.result_retry_ms,
    )


def _wait(ledger: LedgerClient, crawl_id: str, max_wait_minutes: int) -> Ended | None:
    """How the crawl ended; None where it still runs after the budget."""
    watch = Stopwatch()
    while True:
        crawl = insist(
            lambda: ledger.crawl(crawl_id),
            f"the question about crawl {crawl_id} was",
            stop=StopSignal(),
            budget_ms=AWAY_BUDGET_MS,
            retry_ms=POLL_MS,
        )
        ended = end_of(crawl)
        if ended is not None or watch.elapsed_ms >= max_wait_minutes * 60_000:
            return ended
        time.sleep(POLL_MS / 1000)


def _tag(run_id: str, crawl_id: str, log: Log) -> None:
    """Mark the run with its crawl: to find one from the other in the UI, and to cancel both together."""
    try:
        with get_client(sync_client=True) as prefect:
            tags = prefect.read_flow_run(run_id).tags  # type: ignore[arg-type]
            prefect.update_flow_run(run_id, tags=[*tags, f"{_TAG}{crawl_id}"])  # type: ignore[arg-type]
    except Exception as error:  # the crawl runs; a tag is not worth its end
        log.warning("the run could not be tagged with its crawl: %s", error)
