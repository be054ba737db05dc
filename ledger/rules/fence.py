"""Which flow run may speak for a level."""

from dataclasses import dataclass

from comity.contract.ledger import CrawlState


@dataclass(frozen=True)
class Holder:
    """The crawl's current level: `run_id` holds it, once one does; `flow_run_id` is the run dispatched for it."""

    state: CrawlState
    depth: int
    attempt: int
    run_id: str | None
    flow_run_id: str | None


@dataclass(frozen=True)
class Claim:
    """What a caller says it speaks for."""

    depth: int
    attempt: int
    run_id: str


def stale(holder: Holder, claim: Claim) -> str | None:
    """Why the claim is not the level's own, or None where it is. The crawl's state is another question."""
    if (claim.depth, claim.attempt) != (holder.depth, holder.attempt):
        return (
            f"the crawl is at depth {holder.depth}, attempt {holder.attempt}, "
            f"not at depth {claim.depth}, attempt {claim.attempt}"
        )
    if holder.run_id is not None and claim.run_id != holder.run_id:
        return f"another run holds this level: {holder.run_id}"
    return None


def over(holder: Holder) -> str | None:
    """Why the crawl needs no more of anyone, or None while it runs."""
    return None if holder.state == "running" else f"the crawl is {holder.state}"


def may_fail(holder: Holder, claim: Claim) -> str | None:
    """Why a failure must not end the crawl, or None where it may.

    Stricter than `stale`: before a run has taken the level, only the dispatched one may give it up, so that a run that
    someone started by hand cannot end the crawl of the real one.
    """
    reason = over(holder) or stale(holder, claim)
    if reason is None and holder.run_id is None and holder.flow_run_id not in (None, claim.run_id):
        return f"another run was dispatched for this level: {holder.flow_run_id}"
    return reason
