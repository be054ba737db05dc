"""Routes of crawls, as people and triggers use them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query

from comity.contract.ledger import CrawlList, CrawlStarted, CrawlView, PageList, PageState, StartCrawl
from ledger.api.bodies import json_body, lists
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes
from ledger.services.look import NEWEST_CRAWLS

router = APIRouter(prefix="/api/crawls")


@router.post("", status_code=202, openapi_extra=takes(StartCrawl))
def start(
    ledger: Ledger,
    caller: Caller,
    order: Annotated[StartCrawl, Depends(json_body(StartCrawl, lists))],
    idempotency_key: Annotated[str | None, Header()] = None,
) -> CrawlStarted:
    """Start a crawl."""
    return ledger.starts.start(order, by=caller, key=idempotency_key)


@router.get("")
def newest(
    ledger: Ledger,
    caller: Caller,
    before: Annotated[str | None, Query(max_length=32, pattern=r"^[^\x00]+$")] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = NEWEST_CRAWLS,
) -> CrawlList:
    """The newest crawls; those older than the crawl `before`."""
    return ledger.looks.newest(caller.sees, before=before, limit=limit)


@router.get("/{crawl_id}")
def one(ledger: Ledger, caller: Caller, crawl_id: str) -> CrawlView:
    """One crawl."""
    return ledger.looks.crawl(crawl_id, caller.sees)


@router.get("/{crawl_id}/pages")
def pages(
    ledger: Ledger,
    caller: Caller,
    crawl_id: str,
    depth: Annotated[int | None, Query(ge=0, le=1000)] = None,
    state: PageState | None = None,
) -> PageList:
    """Its pages with their visits."""
    return ledger.looks.pages(crawl_id, caller.sees, depth=depth, state=state)


@router.post("/{crawl_id}/cancel")
def cancel(ledger: Ledger, caller: Caller, crawl_id: str) -> CrawlView:
    """Stop it and its run. What was captured stays."""
    ledger.stops.cancel(crawl_id, caller.sees, by=caller.subject)
    return ledger.looks.crawl(crawl_id, caller.sees)
