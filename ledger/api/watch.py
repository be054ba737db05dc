"""Routes of watched pages and of their lists, as people use them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from comity.contract.watch import (
    AddPages,
    ChangeList,
    ChangePage,
    Counts,
    Freshness,
    ListedPages,
    NewList,
    PagesAdded,
    VisitNow,
    WatchList,
    WatchLists,
    WatchPage,
    WatchPageList,
)
from comity.contract.watch_found import History, PageContent, PageEventDetail, PageEvents
from ledger.api.bodies import json_body, lists
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/watch")

Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str | None, Query(max_length=64, pattern=r"^[^\x00]+$")]


@router.post("/pages", status_code=201, openapi_extra=takes(AddPages))
def add_pages(
    ledger: Ledger, caller: Caller, order: Annotated[AddPages, Depends(json_body(AddPages, lists))]
) -> PagesAdded:
    """Watch pages."""
    return ledger.watching.pages.add(order, caller.home)


@router.get("/pages")
def pages(
    ledger: Ledger,
    caller: Caller,
    *,
    after: Cursor = None,
    limit: Limit = 100,
    label: Annotated[str | None, Query(max_length=100, pattern=r"^[^\x00]+$")] = None,
    url: Annotated[str | None, Query(max_length=2048, pattern=r"^[^\x00]+$")] = None,
) -> WatchPageList:
    """Watched pages, oldest first: those with a label, or that of a URL."""
    return ledger.watching.pages.several(caller.sees, after=after, limit=limit, label=label, url=url)


@router.get("/pages/{page_id}")
def page(ledger: Ledger, caller: Caller, page_id: str) -> WatchPage:
    """One page."""
    return ledger.watching.pages.one(page_id, caller.sees)


@router.patch("/pages/{page_id}", openapi_extra=takes(ChangePage))
def change_page(
    ledger: Ledger, caller: Caller, page_id: str, order: Annotated[ChangePage, Depends(json_body(ChangePage))]
) -> WatchPage:
    """Change a page, or how it is watched; pause it."""
    return ledger.watching.pages.change(page_id, order, caller.sees)


@router.delete("/pages/{page_id}", status_code=204)
def remove_page(ledger: Ledger, caller: Caller, page_id: str) -> None:
    """Forget a page."""
    ledger.watching.pages.remove(page_id, caller.sees)


@router.post("/pages/{page_id}/visit")
def visit_now(ledger: Ledger, caller: Caller, page_id: str) -> VisitNow:
    """Visit a page as soon as its host may be visited."""
    return ledger.watching.pages.visit_now(page_id, caller.sees)


@router.get("/pages/{page_id}/content")
def content(ledger: Ledger, caller: Caller, page_id: str) -> PageContent:
    """The text that a page is compared with."""
    return ledger.watching.looks.content(page_id, caller.sees)


@router.get("/pages/{page_id}/history")
def history(ledger: Ledger, caller: Caller, page_id: str, before: Cursor = None, limit: Limit = 100) -> History:
    """Visits of a page."""
    return ledger.watching.looks.history(page_id, caller.sees, before=before, limit=limit)


@router.get("/pages/{page_id}/events")
def page_events(ledger: Ledger, caller: Caller, page_id: str, before: Cursor = None, limit: Limit = 100) -> PageEvents:
    """What is told of a page."""
    return ledger.watching.looks.events(page_id, caller.sees, before=before, limit=limit)


@router.get("/pages/{page_id}/events/{event_id}")
def page_event(ledger: Ledger, caller: Caller, page_id: str, event_id: str) -> PageEventDetail:
    """One event with its diff."""
    return ledger.watching.looks.event(page_id, event_id, caller.sees)


@router.get("/lists")
def watch_lists(ledger: Ledger, caller: Caller) -> WatchLists:
    """The lists."""
    return ledger.watching.lists.every(caller.sees)


@router.post("/lists", status_code=201, openapi_extra=takes(NewList))
def add_list(ledger: Ledger, caller: Caller, order: Annotated[NewList, Depends(json_body(NewList))]) -> WatchList:
    """Make a list."""
    return ledger.watching.lists.add(order, caller.home)


@router.patch("/lists/{list_id}", openapi_extra=takes(ChangeList))
def change_list(
    ledger: Ledger, caller: Caller, list_id: str, order: Annotated[ChangeList, Depends(json_body(ChangeList))]
) -> WatchList:
    """Rename a list; let pages in and out."""
    return ledger.watching.lists.change(list_id, order, caller.sees)


@router.delete("/lists/{list_id}", status_code=204)
def remove_list(ledger: Ledger, caller: Caller, list_id: str) -> None:
    """Remove a list. Its pages stay."""
    ledger.watching.lists.remove(list_id, caller.sees)


@router.get("/lists/{list_id}/pages")
def listed_pages(ledger: Ledger, caller: Caller, list_id: str, after: Cursor = None, limit: Limit = 100) -> ListedPages:
    """Pages of a list, the newest update first."""
    return ledger.watching.lists.pages(list_id, caller.sees, after=after, limit=limit)


@router.get("/lists/{list_id}/freshness")
def freshness(ledger: Ledger, caller: Caller, list_id: str) -> Freshness:
    """How fresh a list is."""
    return ledger.watching.lists.freshness(list_id, caller.sees)


@router.get("/counts")
def counts(ledger: Ledger, caller: Caller) -> Counts:
    """Processing, delayed, queued."""
    return ledger.watching.looks.counts(caller.sees)
