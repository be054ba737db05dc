"""What follows a flow run that extracted for a crawl, and how far the extraction is said to be."""

from dataclasses import dataclass

from comity.contract.extraction import ExtractionState
from comity.contract.ledger import AttemptEnd

MAX_FRUITLESS = 3
"""Runs in a row that end badly and bring no result. A fourth would bring none either."""


@dataclass(frozen=True)
class RunSoFar:
    """A run: `fruitless` runs in a row ended badly before it."""

    brought_results: bool
    fruitless: int


def fruitless_after(run: RunSoFar) -> int:
    """How many runs in a row ended without a result, this one included, which ended badly."""
    return 0 if run.brought_results else run.fruitless + 1


def is_final(how: AttemptEnd, run: RunSoFar) -> bool:
    """Whether no other run follows one that ended so. A person's word is final."""
    return how == "cancelled" or fruitless_after(run) >= MAX_FRUITLESS


@dataclass(frozen=True)
class OpenRun:
    """The crawl's run that has not ended. `run_id` is the flow run that took it, None before its first order."""

    number: int
    run_id: str | None


def why_stale(current: OpenRun | None, *, number: int, run_id: str) -> str | None:
    """Why a flow run does not speak for the crawl, or None where it does."""
    if current is None or current.number != number:
        return f"extraction {number} has ended"
    if current.run_id not in (None, run_id):
        return f"flow run {current.run_id} is at extraction {number}"
    return None


@dataclass(frozen=True)
class NewestRun:
    """The newest run of a crawl."""

    ended: bool
    heard: bool
    final: bool


def state(pending: int, newest: NewestRun | None) -> ExtractionState:
    """The word for it."""
    if newest is not None and not newest.ended:
        return "running" if newest.heard else "waiting"
    if pending == 0:
        return "idle"
    return "stopped" if newest is not None and newest.final else "waiting"
