"""Routes of moving in from another system."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from comity.contract.watch_moving import (
    ImportPages,
    MovingState,
    PagesImported,
    PagesSwitched,
    SwitchPages,
    TakeUpdates,
    UpdatesTaken,
    UpdateTimes,
)
from ledger.api.bodies import json_body, lists, reports
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/watch")


@router.get("/moving")
def state(ledger: Ledger, caller: Caller) -> MovingState:
    """How many pages each system visits."""
    return ledger.watching.moving.state(by=caller)


@router.post("/moving/pages", openapi_extra=takes(ImportPages))
def take_in(
    ledger: Ledger, caller: Caller, order: Annotated[ImportPages, Depends(json_body(ImportPages, reports))]
) -> PagesImported:
    """Take pages of the other system in, with what it knew of them."""
    return ledger.watching.moving.take_in(order, by=caller)


@router.post("/moving/switch", openapi_extra=takes(SwitchPages))
def switch(
    ledger: Ledger, caller: Caller, order: Annotated[SwitchPages, Depends(json_body(SwitchPages))]
) -> PagesSwitched:
    """Let the one system or the other visit pages from now on."""
    return ledger.watching.moving.switch(order, by=caller)


@router.get("/updates")
def updates(
    ledger: Ledger,
    caller: Caller,
    after: Annotated[str | None, Query(max_length=64, pattern=r"^[^\x00]+$")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> UpdateTimes:
    """When which page was found changed, for the other system."""
    return ledger.watching.moving.updates(after=after, limit=limit, by=caller)


@router.post("/updates", openapi_extra=takes(TakeUpdates))
def take_updates(
    ledger: Ledger, caller: Caller, order: Annotated[TakeUpdates, Depends(json_body(TakeUpdates, lists))]
) -> UpdatesTaken:
    """Changes that the other system found."""
    return ledger.watching.moving.take_updates(order, by=caller)
