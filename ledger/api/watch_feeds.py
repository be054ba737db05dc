"""Routes of feeds: their addresses for those who may give them away, and what lies under them for everyone else."""

from email.utils import format_datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from starlette.requests import Request

from comity.contract.watch_telling import FeedLinks, FeedMade, NewFeed
from ledger.api.bodies import json_body
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter()
FRESH_S = 300


@router.get("/api/watch/feeds")
def listed(ledger: Ledger, caller: Caller) -> FeedLinks:
    """The caller's feeds, oldest first, without their addresses."""
    return ledger.feeds.listed(by=caller)


@router.post("/api/watch/feeds", status_code=201, openapi_extra=takes(NewFeed))
def create(
    ledger: Ledger,
    caller: Caller,
    request: Request,
    response: Response,
    order: Annotated[NewFeed, Depends(json_body(NewFeed))],
) -> FeedMade:
    """A feed for readers that can show no token; this answer alone has its addresses."""
    response.headers["Cache-Control"] = "no-store"
    return ledger.feeds.create(order, base_url=str(request.base_url), by=caller)


@router.delete("/api/watch/feeds/{feed_id}", status_code=204)
def remove(ledger: Ledger, caller: Caller, feed_id: str) -> None:
    """Let its addresses lead nowhere."""
    ledger.feeds.remove(feed_id, by=caller)


@router.get("/feeds/{name}", response_class=Response)
def read(ledger: Ledger, request: Request, name: str) -> Response:
    """The feed in the format that its address ends with: `.atom`, `.rss` or `.json`."""
    found = ledger.feeds.read(name, base_url=str(request.base_url))
    headers = {
        "ETag": found.etag,
        "Last-Modified": format_datetime(found.updated_at, usegmt=True),
        "Cache-Control": f"private, max-age={FRESH_S}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Referrer-Policy": "no-referrer",
    }
    if found.etag in (one.strip().removeprefix("W/") for one in request.headers.get("If-None-Match", "").split(",")):
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.content_type, headers=headers)
