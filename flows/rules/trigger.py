"""What a trigger asks the ledger for, and what the crawl's end means for the trigger's run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from blocks.rules import first_problem
from comity.contract.ledger import NO_ENABLED_TARGET, SLOTS_TAKEN, CrawlView, FromTargets, Scope, StartCrawl


@dataclass(frozen=True, slots=True)
class Ended:
    """How a crawl ended: `succeeded` is green, `failed` and `cancelled` are red with `said` as the reason."""

    state: Literal["succeeded", "failed", "cancelled"]
    said: str


def wanted_crawl(
    *,
    seeds: Sequence[str] | None,
    from_targets: bool,
    limit: int | None,
    scope: Scope,
    max_depth: int | None,
    max_pages: int,
    per_host_delay_ms: int,
    host_parallelism: int,
    respect_robots: bool,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    sitemaps: bool,
    scripts: Sequence[str | dict[str, Any]] | None,
    extractors: Sequence[dict[str, Any]] | None,
) -> StartCrawl:
    """The ledger's request. Raises ValueError naming the parameter; whatever the ledger knows better, it refuses."""
    if seeds and from_targets:
        raise ValueError("seeds and from_targets: give one of the two, not both")
    if not seeds and not from_targets:
        raise ValueError("seeds: give at least one URL, or set from_targets to begin at the enabled targets")
    if limit is not None and not from_targets:
        raise ValueError("limit: goes only with from_targets; leave it out, or set from_targets")
    try:
        return StartCrawl.model_validate(
            {
                "seeds": list(seeds) if seeds else None,
                "from_targets": FromTargets(limit=limit) if from_targets else None,
                "scope": scope,
                "max_depth": max_depth,
                "max_pages": max_pages,
                "per_host_delay_ms": per_host_delay_ms,
                "host_parallelism": host_parallelism,
                "respect_robots": respect_robots,
                "include": list(include or ()),
                "exclude": list(exclude or ()),
                "sitemaps": sitemaps,
                "scripts": list(scripts) if scripts is not None else None,
                "extractors": list(extractors or ()),
            }
        )
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None


def end_of(crawl: CrawlView) -> Ended | None:
    """None while it runs. A state that nobody told us about is refused: it must not pass for an end, or for a run."""
    if crawl.state == "running":
        return None
    counts = crawl.counts
    said = f"{counts.captured} captured, {counts.failed} failed, {counts.skipped} skipped, {counts.pending} not visited"
    if crawl.state == "succeeded":
        died = len(crawl.attempts)
        resumed = f"; resumed after {died} run{'' if died == 1 else 's'} that died" if died else ""
        return Ended("succeeded", f"crawl {crawl.id} succeeded: {said}; {crawl.stop_reason or 'completed'}{resumed}")
    if crawl.state in ("failed", "cancelled"):
        return Ended(crawl.state, f"crawl {crawl.id} {crawl.state}: {crawl.error or 'no reason given'}; {said}")
    raise ValueError(f"crawl {crawl.id} is in a state that this version does not know: {crawl.state!r}")


def nothing_to_do(code: str | None) -> bool:
    """No target is enabled, or crawls of others take every slot. (Another refusal is a fault.)"""
    return code in (NO_ENABLED_TARGET, SLOTS_TAKEN)
