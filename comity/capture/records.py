"""From a request that has ended to its records: what its body is, why it is cut, and what the archive lacks."""

import asyncio
import base64
import contextlib
from collections.abc import Callable
from typing import Any

from comity.archive.warc import Payload, Truncation
from comity.capture import verdicts
from comity.capture.bodies import Bodies
from comity.capture.cdp import CdpError, Params, Session, value_bytes
from comity.capture.egress.book import Book, Refused
from comity.capture.exchange import Chain, Hop, header_of
from comity.capture.large_body import release
from comity.capture.policies import Policies
from comity.capture.tally import Limits, Tally
from comity.capture.turn import Turn
from comity.capture.warc_records import Exchanges

EXACT_WAIT_S = 0.25
"""Exact headers come by another way and may be late by some milliseconds."""
OVER_LIMIT = "over the size limit"
LEFT_OUT = "left out by policy"
DENIED = "denied by policy"
STILL_LOADING = "still loading when the capture ended"
TOO_LATE = "its body did not come before the capture ended"
BODYLESS_STATUS = frozenset({101, 204, 205, 304})


class Records:
    """Writes them, and counts in `tally`. `on_broken` is told where the archive cannot be written."""

    def __init__(
        self,
        exchanges: Exchanges,
        *,
        tally: Tally,
        policies: Policies,
        limits: Limits,
        egress: Book,
        on_broken: Callable[[OSError], None],
    ) -> None:
        self._exchanges = exchanges
        self._tally = tally
        self._policies = policies
        self._limits = limits
        self._egress = egress
        self._on_broken = on_broken
        self.bodies = Bodies()
        self.turn = Turn()
        self.writing: set[asyncio.Task[Any]] = set()
        """Tasks that must not be cancelled now: half a record would be left."""

    async def record(self, chain: Chain, session: Session, failure: Params | None) -> None:
        """What has ended, with its body."""
        try:
            await self._await_exact(chain)
            chain.join_exact()
            await self._record_redirects(chain)
            if chain.last.response is None:
                self._note_failure(chain, failure)
                return
            if session.lasting:
                await self.turn.come(chain.received_bytes)
            body, cut, why = await self._body(chain, session, failure)
            await self._write(chain.last, chain, body, cut, why)
        except OSError as error:
            self._on_broken(error)
        finally:
            chain.release()

    async def record_download(self, chain: Chain, body: Payload | None) -> None:
        """A download whose body is here; None: too long."""
        try:
            if body is None:
                await self._write(chain.last, chain, b"", "length", OVER_LIMIT)
            elif self._is_bodyless(chain.last):
                await self._write(chain.last, chain, b"", "unspecified", LEFT_OUT)
            else:
                await self._write(chain.last, chain, body, None, None)
        except OSError as error:
            self._on_broken(error)
        finally:
            release(body)

    async def record_open(self, chain: Chain, why: str) -> None:
        """What was not whole when the capture ended: headers, no body."""
        chain.join_exact()
        try:
            await self._record_redirects(chain)
            if chain.last.response is None:
                self._tally.failed.setdefault(chain.last.url, "no response before the capture ended")
            else:
                await self._write(chain.last, chain, b"", "time", why)
        except OSError as error:
            self._on_broken(error)
        finally:
            chain.release()

    async def _await_exact(self, chain: Chain) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXACT_WAIT_S):
                while chain.lacks_exact:
                    chain.told.clear()
                    await chain.told.wait()

    async def _record_redirects(self, chain: Chain) -> None:
        for hop in chain.hops[:-1]:
            if hop.response is not None and not hop.written:
                lacks = header_of(hop.response_headers, "content-length") not in ("0", None)
                # The browser drops the body of a redirect unread, and so no page ever saw it: the record says so,
                # the completeness of the page does not suffer.
                await self._write(hop, chain, b"", "unspecified" if lacks else None, None)

    def _note_failure(self, chain: Chain, failure: Params | None) -> None:
        chain.last.written = True
        reason = (failure or {}).get("errorText") or "no response"
        outcome = self._egress.failure_of(chain.last.url) if reason in verdicts.NO_WAY else None
        blocked = (failure or {}).get("blockedReason") or reason == "net::ERR_BLOCKED_BY_CLIENT"
        if isinstance(outcome, Refused):
            self._tally.note_blocked(chain.last.url, outcome.verdict.reason)
        elif blocked:
            by_us = self._policies.of_url(chain.last.url) == "deny"
            self._tally.note_blocked(chain.last.url, DENIED if by_us else f"blocked by the browser: {blocked}")
        else:
            self._tally.failed.setdefault(chain.last.url, outcome.error if outcome else str(reason))

    async def _body(
        self, chain: Chain, session: Session, failure: Params | None
    ) -> tuple[Payload, Truncation | None, str | None]:
        """The decoded body, why it is cut, and what to say about it."""
        hop = chain.last
        if hop.method == "HEAD" or hop.kind == "Preflight" or hop.status in BODYLESS_STATUS:
            return b"", None, None
        if chain.over_limit:
            return b"", "length", OVER_LIMIT
        if self._is_bodyless(hop):
            return b"", "unspecified", LEFT_OUT
        if chain.given_body is not None:
            return chain.given_body, None, None
        body = await self.bodies.of(chain, session)
        return self._judge_body(hop, body, failure)

    def _is_bodyless(self, hop: Hop) -> bool:
        return self._policies.of_url(hop.url) == "no-body" or not self._policies.keeps_body(hop.content_type)

    def _judge_body(
        self, hop: Hop, body: Payload | None, failure: Params | None
    ) -> tuple[Payload, Truncation | None, str | None]:
        if body is None:
            return b"", "disconnect" if failure else "unspecified", "the browser no longer had the body"
        if len(body) > self._limits.response_bytes:
            return b"", "length", OVER_LIMIT
        if failure is not None and not _is_whole(hop, body):
            return body, "disconnect", f"loading ended early: {failure.get('errorText', 'unknown')}"
        return body, None, None

    async def _write(self, hop: Hop, chain: Chain, body: Payload, cut: Truncation | None, why: str | None) -> None:
        await self._complete_post(hop, chain)
        hop.written = True
        if self._policies.of_url(hop.url) in ("deny", "no-archive"):
            return
        task = asyncio.current_task()
        assert task is not None
        self.writing.add(task)
        try:
            await self._exchanges.add(hop, body, cut)
        finally:
            self.writing.discard(task)
        self._tally.recorded += 1
        self._tally.body_bytes += len(body)
        if why is not None:
            target = self._tally.truncated if cut in ("length", "time", "disconnect") else self._tally.bodyless
            target.setdefault(hop.url, why)

    async def _complete_post(self, hop: Hop, chain: Chain) -> None:
        """Asks for a request body that was too long for its event."""
        request = hop.request
        if not request.get("hasPostData") or request.get("postDataEntries") or request.get("postData"):
            return
        with contextlib.suppress(CdpError):
            answer = await chain.owner.call("Network.getRequestPostData", {"requestId": chain.request_id})
            raw = value_bytes(answer, "postData")
            request["postDataEntries"] = [{"bytes": base64.b64encode(raw).decode("ascii")}]


def _is_whole(hop: Hop, body: Payload) -> bool:
    """Whether a body came complete though its loading is told as failed (the script of a 404, an ignored fetch)."""
    if header_of(hop.response_headers, "content-encoding"):
        return False
    return header_of(hop.response_headers, "content-length") == str(len(body))
