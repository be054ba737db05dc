"""Attempts at levels that died, in plain words. Pure."""

from comity.contract.ledger import AttemptView, CrawlView


def tried_again(crawl: CrawlView, depth: int) -> str:
    """That a level under way is being tried again, and after what; else empty."""
    died = [one for one in crawl.attempts if one.depth == depth]
    if crawl.state != "running" or not died:
        return ""
    last = died[-1]
    return f"level {depth}: attempt {last.attempt + 1} after: {last.reason} ({last.ended})"


def now_tried_again(crawl: CrawlView) -> str:
    """The same for the level that the crawl is at, without its pages: by its newest run."""
    return tried_again(crawl, crawl.last_run.depth) if crawl.last_run is not None else ""


def survived(crawl: CrawlView) -> list[AttemptView]:
    """Attempts that another one followed. What ended the crawl is in its error."""
    begun = {(one.depth, one.attempt) for one in crawl.attempts}
    if crawl.last_run is not None:
        begun.add((crawl.last_run.depth, crawl.last_run.attempt))
    newest = max(begun, default=(0, 0))
    return [one for one in crawl.attempts if (one.depth, one.attempt) < newest]
