"""When a crawl is over, and what it says about its end."""

from dataclasses import dataclass

from comity.contract.ledger import CrawlState, StopReason


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


def ending(*, captured: int, failed: int, skipped: int, bitten: StopReason | None) -> Ending:
    """The end of a crawl whose levels all closed. One that captured nothing has failed, whatever stopped it."""
    if captured == 0:
        total = failed + skipped
        return Ending("failed", "failed", f"nothing was captured: of {total} pages {failed} failed, {skipped} skipped")
    return Ending("succeeded", bitten or "completed", None)
