"""`GET /api/crawls/{id}/events`: server-sent events (HTML Standard, 9.2)."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ledger.api.parts_of import Caller, Ledger
from ledger.errors import BadInput, StoreBusy, Unknown
from ledger.services.follow_crawl import FollowService, Told

POLL_S = 0.5
HEARTBEAT_S = 15.0
"""A comment after so long without an event: proxies keep the connection, and a reader sees that it lives."""
MAX_ID_DIGITS = 18

router = APIRouter(prefix="/api/crawls")


class EventStream(StreamingResponse):
    """Holds a place among the streams while it is sent, whoever ends it."""

    media_type = "text/event-stream"

    def __init__(self, follow: FollowService, crawl_id: str, told: list[Told], after: int) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(_frames(follow, crawl_id, told, after), headers=headers)
        self._follow = follow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._follow.stream():
            await super().__call__(scope, receive, send)


@router.get(
    "/{crawl_id}/events",
    response_model=None,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Events until the crawl's end"},
        204: {"description": "The reader has seen the end"},
    },
)
def events(
    ledger: Ledger,
    caller: Caller,
    crawl_id: str,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """What happens to the crawl: `level-opened`, `page`, `level-closed`, and at last `end`."""
    after = _event_id(last_event_id)
    told = ledger.follows.since(crawl_id, after, caller.sees)
    if after and [one.event_id for one in told] == [None]:
        return Response(status_code=204)  # a browser that came back by itself stops here
    return EventStream(ledger.follows, crawl_id, told, after)


def _event_id(header: str | None) -> int:
    if not header:
        return 0
    if not (header.isascii() and header.isdigit() and len(header) <= MAX_ID_DIGITS):
        raise BadInput.at("Last-Event-ID", "is not the id of an event; send one that came, or leave it out")
    return int(header)


async def _frames(follow: FollowService, crawl_id: str, told: list[Told], after: int) -> AsyncIterator[str]:
    silent_s = 0.0
    while True:
        for one in told:
            yield _frame(one)
            after = one.event_id or after
            if one.kind == "end":
                return
        silent_s = 0.0 if told else silent_s + POLL_S
        if silent_s >= HEARTBEAT_S:
            silent_s = 0.0
            yield ": alive\n\n"
        if not told:
            await asyncio.sleep(POLL_S)
        if follow.ending:
            return
        try:
            told = await run_in_threadpool(follow.since, crawl_id, after)
        except StoreBusy:
            told = []
        except Unknown:  # the crawl was pruned meanwhile
            return


def _frame(told: Told) -> str:
    ident = f"id: {told.event_id}\n" if told.event_id is not None else ""
    return f"{ident}event: {told.kind}\ndata: {json.dumps(told.data, ensure_ascii=False)}\n\n"
