"""What is noted of a flow run, whether it captures a level or extracts: its dispatch, its signs of life, its state."""

from datetime import datetime

from ledger.store.database import Tx
from ledger.store.models import FlowRun


def dispatched(tx: Tx, run: FlowRun, *, flow_run_id: str, at: datetime) -> None:
    """Prefect has it."""
    run.flow_run_id, run.dispatched_at, run.dispatch_trouble = flow_run_id, at, None
    tx.flush()


def dispatch_failed(tx: Tx, run: FlowRun, *, trouble: str) -> None:
    """Why Prefect still does not have it."""
    run.dispatch_trouble = trouble
    tx.flush()


def hear(tx: Tx, run: FlowRun, *, run_id: str, at: datetime) -> None:
    """A sign of life. The first run that gives one holds the work."""
    run.run_id = run.run_id or run_id
    run.first_seen_at = run.first_seen_at or at
    run.last_seen_at = at
    tx.flush()


def saw_state(tx: Tx, run: FlowRun, *, state: str, at: datetime) -> datetime:
    """Note the run's state in Prefect. Returns since when we have seen it."""
    if run.prefect_state != state or run.prefect_state_at is None:
        run.prefect_state, run.prefect_state_at = state, at
        tx.flush()
    assert run.prefect_state_at is not None
    return run.prefect_state_at
