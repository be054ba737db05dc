"""When a crawl is over, and what it says about its end.

A crawl whose levels all closed ends here, by the counts of its pages. Others end early: for want of room
(`ledger.rules.space`), or because a level could not be brought to its end or a person said so (`ledger.rules.resume`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from comity.contract.ledger import CrawlState, StopReason

BY_COUNTS: Final[frozenset[str]] = frozenset({"completed", "max_depth", "max_pages", "failed"})
"""Stop reasons that counts can bring about: where one of its pages turns out otherwise, the crawl is judged again."""


@dataclass(frozen=True)
class AfterLevel:
    """`bitten` is the first limit that bit so far. `over`: there is no next level."""

    bitten: StopReason | None
    over: bool


@dataclass(frozen=True)
class Ending:
    """How a crawl ends. `error` says what a person should know, where something is wrong."""

    state: CrawlState
    stop_reason: StopReason
    error: str | None


def after_level(*, depth: int, max_depth: int, entered: int, cut: bool, bitten: StopReason | None) -> AfterLevel:
    """What follows a closed level. The first limit that bites is kept: what comes later did not stop the crawl.

    At `max_depth` links are not even captured, so the depth is what ended it, whether there were more pages or not.
    """
    if bitten is None and cut:
        bitten = "max_pages"
    if depth >= max_depth:
        return AfterLevel(bitten or "max_depth", over=True)
    return AfterLevel(bitten, over=entered == 0)


def ending(counts: Mapping[str, int], bitten: StopReason | None) -> Ending:
    """The end of a crawl whose levels all closed, by how many pages are in which state.

    One that captured nothing has failed, whatever stopped it.
    """
    if counts.get("captured", 0) == 0:
        failed, skipped = counts.get("failed", 0), counts.get("skipped", 0)
        total = failed + skipped
        return Ending("failed", "failed", f"nothing was captured: of {total} pages {failed} failed, {skipped} skipped")
    return Ending("succeeded", bitten or "completed", None)


def limit_that_bit(stop_reason: str | None, bitten: str | None) -> StopReason | None:
    """The limit that bit first of a crawl that has ended, or None. A stop reason like `failed` hides it."""
    match stop_reason if stop_reason in ("max_pages", "max_depth") else bitten:
        case "max_pages":
            return "max_pages"
        case "max_depth":
            return "max_depth"
    return None
