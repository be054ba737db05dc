"""What follows where a page gets its outcome after its own report: its links, and how the crawl is said to have ended.

A crawl whose levels all closed ended by the counts of its pages. Where a page turns out captured after all, or not
captured after all, the ending is judged again, so that counts, rows and state never disagree.
"""

from collections.abc import Sequence
from datetime import datetime

from comity.contract.ledger import CrawlPolicy, PageResult
from ledger import log
from ledger.rules import stop_reason
from ledger.rules.outcome import Settled
from ledger.services.record_results import tell_page
from ledger.services.want_extractions import want
from ledger.store import crawls, levels, pages
from ledger.store.database import Tx
from ledger.store.models import Crawl, Page


def settle_later(
    tx: Tx,
    crawl: Crawl,
    page: Page,
    *,
    result: PageResult,
    settled: Settled,
    links: Sequence[str] | None,
    size_bytes: int,
    at: datetime,
) -> None:
    """Write the outcome. Links are kept while the page's level is open. The crawl's row must be locked."""
    pages.settle(page, result, settled, at=at)
    crawls.keep_bytes(tx, crawl, size_bytes)
    tell_page(page, settled)
    if page.state == "captured":
        want(tx, crawl.id, [page], at=at)
    if links is not None and levels.closing(tx, crawl.id, page.depth) is None:
        pages.keep_links(tx, {page.id: list(links)})
    _revise_ending(tx, crawl)


def _revise_ending(tx: Tx, crawl: Crawl) -> None:
    if crawl.stop_reason not in stop_reason.BY_COUNTS or levels.closing(tx, crawl.id, crawl.depth) is None:
        return  # under way, cancelled, or ended by a verdict that has nothing to do with counts
    policy = CrawlPolicy.model_validate(crawl.policy)
    bitten = stop_reason.limit_that_bit(crawl.stop_reason, crawl.bitten)
    after = stop_reason.after_level(depth=crawl.depth, max_depth=policy.max_depth, entered=0, cut=False, bitten=bitten)
    ending = stop_reason.ending(crawls.page_counts(tx, [crawl.id]).get(crawl.id, {}), after.bitten)
    if (ending.state, ending.error) != (crawl.state, crawl.error):
        log.event("ending_revised", crawl_id=crawl.id, was=crawl.state, state=ending.state)
        crawls.revise_ending(tx, crawl, ending)
