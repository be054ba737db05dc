"""Bodies of responses, as the browser gives them: in one piece at the end, or as a stream while they come.

Asked for in one piece, a body is in the browser five times over (200 MB: 1.3 GB). So one that grows is taken as a
stream, to disk. A stream is exact only for a session that keeps no durable messages, which are what saves bodies from
being dropped with their renderer: the page has a second session for those, its keeper.
"""

import asyncio
import base64
import logging

from comity.archive.warc import Payload
from comity.capture.cdp import CallTimeoutError, CdpError, Params, Session, value_bytes
from comity.capture.exchange import Chain
from comity.capture.large_body import LargeBody

BODY_BUDGET_S = 40.0
"""For one that may be large. They are fetched one at a time, small ones four at a time."""
SMALL_BODY_BUDGET_S = 20.0
"""Milliseconds where nothing else runs. On a loaded machine a worker that begins answers only once it runs, and what is
given up is lost."""
AFTER_SILENCE_BUDGET_S = 5.0
"""For a small one, once the browser has left a body unanswered: it will not answer for the others."""
STREAMED_FROM_BYTES = 8 * 1024 * 1024
"""Far below what the renderer keeps for us (`RENDERER_KEEPS_BYTES`): the stream begins with what has come before."""
RENDERER_KEEPS_BYTES = 64 * 1024 * 1024

log = logging.getLogger(__name__)


class BodyStream:
    """One body, while it comes."""

    def __init__(self) -> None:
        self.body = LargeBody()
        self.broken = False
        self._early: list[bytes] | None = []
        self._begun = asyncio.Event()

    async def begin(self, session: Session, request_id: str) -> None:
        """Asks for the stream. What cannot be had is `broken`. Raises OSError."""
        try:
            answer = await session.call(
                "Network.streamResourceContent", {"requestId": request_id}, budget_s=BODY_BUDGET_S
            )
            if not self.broken:
                self.body.write(base64.b64decode(answer["bufferedData"]))
                for data in self._early or ():
                    self.body.write(data)
        except CdpError as error:
            log.debug("no stream of %s: %s", request_id, error)
            self.broken = True
        finally:
            self._early = None
            self._begun.set()

    def take(self, params: Params) -> None:
        """One `Network.dataReceived`. Raises OSError."""
        data = params.get("data")
        if not data or self.broken:
            return
        if self._early is None:
            self.body.write(base64.b64decode(data))
        else:
            self._early.append(base64.b64decode(data))

    async def whole(self, size: int) -> LargeBody | None:
        """The body, if all `size` bytes of it came this way."""
        await self._begun.wait()
        return self.body if not self.broken and len(self.body) == size else None

    def drop(self) -> None:
        """It is not wanted any more."""
        self.broken = True
        self.body.close()


class Bodies:
    """Gets bodies one by one, so that memory holds a few of them, never all."""

    def __init__(self) -> None:
        self._few = asyncio.Semaphore(4)
        self._one = asyncio.Semaphore(1)
        self.browser_silent = False
        """A body was asked for and no answer came: the browser's network service died, and lasts dead for bodies."""

    async def of(self, chain: Chain, session: Session) -> Payload | None:
        """The decoded body; None: the browser no longer had it."""
        if chain.stream is not None and _is_in_stream(chain):
            streamed = await chain.stream.whole(chain.received_bytes)
            if streamed is not None:
                return streamed
        return await self._ask(chain, session)

    async def _ask(self, chain: Chain, session: Session) -> bytes | None:
        large = chain.may_be_large
        async with self._one if large else self._few:
            for teller in _who_may_have_it(chain, session):
                try:
                    answer = await teller.call(
                        "Network.getResponseBody",
                        {"requestId": chain.request_id},
                        budget_s=self._budget_s(large=large),
                    )
                    return value_bytes(answer, "body")
                except CallTimeoutError:
                    self.browser_silent = True
                    return None
                except CdpError as error:
                    log.debug("no body of %s: %s", chain.last.url, error)
        return None

    def _budget_s(self, *, large: bool) -> float:
        if large:
            return BODY_BUDGET_S
        return AFTER_SILENCE_BUDGET_S if self.browser_silent else SMALL_BODY_BUDGET_S


def _is_in_stream(chain: Chain) -> bool:
    """Whether its stream may hold all of the body. Of what a page takes as a `Blob` nothing is told, not even a length;
    and where a loading was broken off, the keeper may have more of it than the page has taken.
    """
    return chain.received_bytes > STREAMED_FROM_BYTES or (chain.received_bytes > 0 and not chain.error)


def _who_may_have_it(chain: Chain, session: Session) -> list[Session]:
    """The keeper of the session that told its end, then that session itself, which has what its renderer still holds:
    the browser keeps nothing for a worker inside a frame of another site. Then all others that told of it.
    """
    tellers = [session, *(other for other in chain.sessions if other is not session)]
    return [one for teller in tellers for one in (teller.keeper, teller) if one is not None]
