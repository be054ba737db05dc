"""Requests that the browser holds for us: documents at their response, and what a policy denies.

A navigation that turns into a download never gives its body to the page, and the browser drops it. It is read here
as a stream, up to the limit, and nothing reaches the disk.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from comity.capture.cdp import CdpError, Params, Session, value_bytes
from comity.capture.exchange import paused_hop
from comity.capture.large_body import LargeBody
from comity.capture.policies import Policies
from comity.capture.recorder import Recorder
from comity.capture.records import DENIED
from comity.capture.verdicts import is_download

READ_BYTES = 512 * 1024
READ_BUDGET_S = 30.0


class HeldRequests:
    """Feed `on_paused`. `downloads` lists the URLs that were downloads, in order."""

    def __init__(
        self, recorder: Recorder, policies: Policies, limit_bytes: int, accept_language: str | None = None
    ) -> None:
        self._accept_language = accept_language
        self._recorder = recorder
        self._policies = policies
        self._limit_bytes = limit_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self.downloads: list[str] = []
        self.begun = asyncio.Event()
        """Set once a document has turned out to be a download, which is being read."""

    def on_paused(self, session: Session, params: Params) -> None:
        """One `Fetch.requestPaused` event. Every one of them is let go or refused at once, downloads when read."""
        request_id, url = params["requestId"], params["request"]["url"]
        status = params.get("responseStatusCode")
        if status is None:
            if "responseErrorReason" not in params and self._policies.of_url(url) == "deny":
                session.post("Fetch.failRequest", {"requestId": request_id, "errorReason": "BlockedByClient"})
                if "networkId" not in params:
                    self._recorder.tally.note_blocked(url, DENIED)
            else:
                session.post("Fetch.continueRequest", {"requestId": request_id} | self._own_headers(params))
            return
        headers = {item["name"].lower(): item["value"] for item in params.get("responseHeaders", [])}
        if "networkId" not in params:
            self._spawn(self._take_clicked(session, params))
        elif is_download(status, headers.get("content-type", ""), headers.get("content-disposition", "")):
            self.downloads.append(url)
            self.begun.set()
            self._spawn(self._take(session, params))
        else:
            session.post("Fetch.continueRequest", {"requestId": request_id})

    def _own_headers(self, params: Params) -> Params:
        """The languages exactly as asked: for documents the browser would put weights of its own."""
        if self._accept_language is None or params.get("resourceType") != "Document":
            return {}
        kept = [
            {"name": name, "value": value}
            for name, value in params["request"]["headers"].items()
            if name.lower() != "accept-language"
        ]
        return {"headers": [*kept, {"name": "Accept-Language", "value": self._accept_language}]}

    async def finish(self) -> None:
        """Waits until downloads under way are read."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=READ_BUDGET_S)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_clicked(self, session: Session, params: Params) -> None:
        """A download that an `a[download]` began: it has no network events."""
        request_id, hop = params["requestId"], paused_hop(params)
        if hop.status is not None and 300 <= hop.status < 400:
            self._recorder.add_download(session, hop, b"")
            session.post("Fetch.continueRequest", {"requestId": request_id})
            return
        body: LargeBody | None = None
        with contextlib.suppress(CdpError):
            body = await self._read(session, request_id)
        self._recorder.add_download(session, hop, body)
        session.post("Fetch.failRequest", {"requestId": request_id, "errorReason": "Aborted"})

    async def _take(self, session: Session, params: Params) -> None:
        request_id = params["requestId"]
        try:
            body = await self._read(session, request_id)
            self._recorder.give_body(params.get("networkId", ""), body)
        except CdpError:
            self._recorder.give_body(params.get("networkId", ""), None)
        fulfil = {
            "requestId": request_id,
            "responseCode": params["responseStatusCode"],
            "responseHeaders": params.get("responseHeaders", []),
            "body": "",  # without it the browser waits for the body that we took
        }
        session.post("Fetch.fulfillRequest", fulfil)

    async def _read(self, session: Session, request_id: str) -> LargeBody | None:
        opened = await session.call("Fetch.takeResponseBodyAsStream", {"requestId": request_id})
        handle = opened["stream"]
        body = LargeBody()
        try:
            while True:
                piece = await session.call("IO.read", {"handle": handle, "size": READ_BYTES}, budget_s=READ_BUDGET_S)
                body.write(value_bytes(piece, "data"))
                if len(body) > self._limit_bytes:
                    body.close()
                    return None
                if piece.get("eof"):
                    return body
        finally:
            session.post("IO.close", {"handle": handle})
