"""Visit watched pages as they come due, for as long as the run lives. Start as many runs as are wanted.

The queue gives each host to one worker at a time, so copies share the work and never a site. A run that is cancelled or
told to end gives everything back within seconds.
"""

from typing import Annotated, Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from pydantic import Field

from blocks.errors import BlockUnreadable
from blocks.load import load_ledger
from comity.watch.errors import WatchError
from comity.watch.settings import plan_of, read_settings
from flows.rules.reasons import one_line
from flows.stop import Stopwatch
from flows.watch_run import STOP_BUDGET_S, WatchRun, end_of

SLICE_S = 0.2
TOLD_EVERY_MS = 60_000


def run_name() -> str:
    """What the run does."""
    return "rehearse watched pages" if (flow_run.get_parameters() or {}).get("dry_run") else "watch pages"


@flow(name="watch-pages", flow_run_name=run_name, retries=0, persist_result=False)
def watch_pages(
    concurrency: Annotated[int, Field(ge=1, le=2_000)] | None = None,
    minutes: Annotated[int, Field(ge=1)] | None = None,
    dry_run: bool = False,
) -> State[Any]:
    """Claim pages that are due, visit them, and tell the ledger what changed, until the run is cancelled.

    Args:
        concurrency: Pages in hand at once. Empty means COMITY_WATCH_CONCURRENCY, else 64.
        minutes: End by itself after so long. Empty means never.
        dry_run: Claim pages that another system visits still, and only sleep: to size the workers before a move.
    """
    log = get_run_logger()
    try:
        plan = plan_of(read_settings(concurrency=concurrency), dry_run=dry_run)
        connection = load_ledger()
        with connection.watch_client() as client:
            run = WatchRun(plan, client)
            run.start()
            log.info("worker %s watches pages, %d at once", plan.name, plan.worker.concurrency)
            _see_through(run, minutes, log)
            said = end_of(run)
    except (WatchError, BlockUnreadable, RuntimeError) as error:
        return Failed(message=one_line(str(error)))
    return Completed(message=one_line(said))


def _see_through(run: WatchRun, minutes: int | None, log: Any) -> None:
    """Until it is over, the time is up, or the run is to end, which Prefect raises in this thread."""
    watch, told = Stopwatch(), Stopwatch()
    try:
        while not run.wait(SLICE_S):
            if minutes is not None and watch.elapsed_ms >= minutes * 60_000:
                break
            if told.elapsed_ms >= TOLD_EVERY_MS:
                told = Stopwatch()
                log.info("%d claimed so far: %s", run.tally.claimed, dict(run.tally.outcomes))
    finally:
        run.stop()
        run.wait(STOP_BUDGET_S + 1)
