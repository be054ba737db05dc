"""Flow runs that extract for crawls: opened with the commit that leaves them work, handed to Prefect after it.

Beside the levels' own: an extraction that fails, or that nobody does, never touches a level or a crawl.
"""

from collections.abc import Iterable
from datetime import datetime

from comity.contract.extraction import ExtractionProgress
from comity.contract.ledger import MAX_REASON_CHARACTERS, AttemptEnd
from ledger import log
from ledger.rules import extraction_runs as rules
from ledger.store import extraction_runs as runs
from ledger.store import extractions
from ledger.store.database import Tx
from ledger.store.models_extraction import ExtractionRun

DONE = "done"
"""How a run ended that left nothing waiting. Others end as an attempt at a level does."""


def open_run(tx: Tx, crawl_id: str, *, at: datetime) -> bool:
    """Open the crawl's next run, where something waits, no run is at it, and one may follow. The crawl is locked."""
    if not extractions.any_pending(tx, crawl_id) or runs.current(tx, crawl_id) is not None:
        return False
    last = runs.newest(tx, [crawl_id]).get(crawl_id)
    if last is not None and last.final:
        return False
    fruitless = rules.fruitless_after(so_far(last)) if last is not None and last.ended_as != DONE else 0
    number = last.number + 1 if last is not None else 1
    runs.open_run(tx, crawl_id, number=number, fruitless=fruitless, at=at)
    return True


def end_run(tx: Tx, run: ExtractionRun, *, how: AttemptEnd, reason: str, at: datetime) -> None:
    """The run ended before its work did. Whether another follows is decided here; the reconciler opens it."""
    final = rules.is_final(how, so_far(run))
    runs.end(tx, run, how=how, reason=reason[:MAX_REASON_CHARACTERS], final=final, at=at)
    log.warning("extraction_run_ended", crawl_id=run.crawl_id, number=run.number, how=how, reason=reason, stopped=final)


def so_far(run: ExtractionRun) -> rules.RunSoFar:
    """The facts that its end is judged by."""
    return rules.RunSoFar(brought_results=run.last_result_at is not None, fruitless=run.fruitless)


def progress(tx: Tx, crawl_ids: Iterable[str], ui_url: str | None) -> dict[str, ExtractionProgress]:
    """How far each crawl's extraction is."""
    ids = list(crawl_ids)
    if not ids:
        return {}
    newest, counted = runs.newest(tx, ids), extractions.counts(tx, ids)
    found = {}
    for crawl_id in ids:
        counts = counted.get(crawl_id, extractions.Counts())
        run = newest.get(crawl_id)
        run_id = (run.run_id or run.flow_run_id) if run is not None else None
        state = rules.state(counts.pending, _facts(run) if run is not None else None)
        found[crawl_id] = ExtractionProgress(
            state=state,
            pending=counts.pending,
            extracted=counts.extracted,
            failed=counts.failed,
            partial=counts.partial,
            reason=_reason(run, state) if run is not None else None,
            run_id=run_id,
            run_url=f"{ui_url}/runs/flow-run/{run_id}" if ui_url and run_id else None,
        )
    return found


def _facts(run: ExtractionRun) -> rules.NewestRun:
    return rules.NewestRun(ended=run.ended_at is not None, heard=run.first_seen_at is not None, final=run.final)


def _reason(run: ExtractionRun, state: str) -> str | None:
    if state == "stopped":
        return run.ended_reason
    return run.dispatch_trouble if state == "waiting" and run.ended_at is None else None
