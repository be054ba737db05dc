"""One connection to a browser: the Chrome DevTools Protocol over a pipe, with flat sessions.

The pipe (`--remote-debugging-pipe`) instead of a port: no other process of this machine can drive the browser, and the
browser ends by itself when our end closes. Messages are JSON, each followed by a NUL byte.

Two things the protocol does not do by itself are done here: calls in flight fail when their session or the browser
dies (Chromium answers neither), and every call has a budget (a page whose main thread is blocked never answers).
"""

import asyncio
import binascii
import contextlib
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

Params = dict[str, Any]
Listener = Callable[[str, Params], None]
"""Called with an event's method and parameters, in the order of arrival. Must not block."""

CALL_BUDGET_S = 15.0
"""For calls that name no budget of their own: what a healthy browser answers in milliseconds."""
READ_BYTES = 1 << 20


_LARGE_ANSWER = re.compile(rb'\{"id":\d+,"result":\{"body":"')
_BINARY_ANSWER = b',"base64Encoded":true'
"""How an answer begins and goes on that is nearly all one binary value. Inside a JSON string no quote stands bare."""
TAIL_BYTES = 200
LARGE_BYTES = 1 << 20


def parse(message: bytearray) -> Params:
    """A message as JSON. A large binary value is decoded out of its place, as `bytes` in the result.

    The plain way holds such a value five times over (text, string, value, ASCII, bytes): a gigabyte for 200 MB.
    """
    opening = _LARGE_ANSWER.match(message) if len(message) > LARGE_BYTES else None
    if opening is not None and _BINARY_ANSWER in message[-TAIL_BYTES:]:
        start, end = opening.end(), message.find(b'"', opening.end())
        rest: Params = json.loads(message[:start] + message[end:])
        with memoryview(message) as view:
            rest["result"]["bytes"] = binascii.a2b_base64(view[start:end])
        return rest
    whole: Params = json.loads(message)
    return whole


def value_bytes(result: Params, name: str) -> bytes:
    """The value `name` of an answer that may be base64 (`base64Encoded`), as bytes."""
    if "bytes" in result:
        return bytes(result["bytes"])
    text = str(result[name])
    return binascii.a2b_base64(text) if result.get("base64Encoded") else text.encode("utf-8")


class CdpError(Exception):
    """Base of what goes wrong between us and the browser."""


class CallRefusedError(CdpError):
    """The browser answered with an error: `code` and `message` are the browser's."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code


class CallTimeoutError(CdpError):
    """The browser or the page did not answer within the budget."""

    def __init__(self, method: str, budget_s: float) -> None:
        super().__init__(f"{method}: no answer within {budget_s:g} s")
        self.method = method
        self.budget_s = budget_s


class SessionLostError(CdpError):
    """The page (its renderer) is gone; the browser lives."""


class BrowserLostError(CdpError):
    """The browser is gone."""


class Session:
    """Calls and events of one target. `listener` gets each event of the session."""

    def __init__(self, connection: "Connection", session_id: str | None) -> None:
        self._connection = connection
        self.session_id = session_id
        self.listener: Listener | None = None
        self.keeper: Session | None = None
        """Another session of the same target that keeps the bodies of its requests; None: this one does."""
        self.lasting = False
        """Whether it lives as long as the capture: what is kept for it can wait."""

    async def call(self, method: str, params: Params | None = None, *, budget_s: float = CALL_BUDGET_S) -> Params:
        """Sends one command and returns its result.

        Raises CallRefusedError, CallTimeoutError, SessionLostError or BrowserLostError.
        """
        return await self._connection.call(method, params, session_id=self.session_id, budget_s=budget_s)

    def post(self, method: str, params: Params | None = None) -> None:
        """Sends one command whose answer does not matter. Never raises: a session that is gone needs nothing."""
        self._connection.post(method, params, session_id=self.session_id)


class Connection:
    """The pipe to one browser. `closed` is set when the browser is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)
        self._pending: dict[int, tuple[str, str | None, asyncio.Future[Params]]] = {}
        self._sessions: dict[str, Session] = {}
        self.root = Session(self, None)
        self.closed = asyncio.Event()
        self._pump = asyncio.create_task(self._read(), name="cdp-read")

    def session(self, session_id: str) -> Session:
        """The session with this id, as attached by the browser."""
        return self._sessions.setdefault(session_id, Session(self, session_id))

    def drop_session(self, session_id: str, why: str) -> None:
        """Fails every call in flight of a session that will not answer any more."""
        self._sessions.pop(session_id, None)
        self.fail_calls(session_id, why)

    def fail_calls(self, session_id: str, why: str) -> None:
        """Fails the calls in flight of a session whose renderer crashed."""
        for _, owner, future in list(self._pending.values()):
            if owner == session_id and not future.done():
                future.set_exception(SessionLostError(why))

    def post(self, method: str, params: Params | None, *, session_id: str | None) -> None:
        """Sends without waiting for the answer."""
        self._send(next(self._ids), method, params, session_id)

    async def call(self, method: str, params: Params | None, *, session_id: str | None, budget_s: float) -> Params:
        """See `Session.call`."""
        if self.closed.is_set():
            raise BrowserLostError(f"{method}: the browser is gone")
        call_id = next(self._ids)
        future: asyncio.Future[Params] = asyncio.get_running_loop().create_future()
        self._pending[call_id] = (method, session_id, future)
        try:
            self._send(call_id, method, params, session_id)
            async with asyncio.timeout(budget_s):
                return await future
        except TimeoutError:
            raise CallTimeoutError(method, budget_s) from None
        finally:
            self._pending.pop(call_id, None)

    def _send(self, call_id: int, method: str, params: Params | None, session_id: str | None) -> None:
        message: Params = {"id": call_id, "method": method, "params": params or {}}
        if session_id is not None:
            message["sessionId"] = session_id
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message, separators=(",", ":")).encode("utf-8") + b"\0")

    async def close(self) -> None:
        """Closes our end; the browser ends when it notices."""
        self._writer.close()
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump
        self.lost()

    def lost(self) -> None:
        """The browser is gone: every call in flight fails, and so does every later one."""
        self.closed.set()
        for method, _, future in list(self._pending.values()):
            if not future.done():
                future.set_exception(BrowserLostError(f"{method}: the browser is gone"))

    async def _read(self) -> None:
        held = bytearray()
        try:
            while chunk := await self._reader.read(READ_BYTES):
                *whole, rest = chunk.split(b"\0")
                for piece in whole:
                    held += piece
                    message, held = held, bytearray()
                    self._dispatch(parse(message))
                held += rest
        except (ConnectionError, OSError):
            pass
        finally:
            self.lost()

    def _dispatch(self, message: Params) -> None:
        call_id = message.get("id")
        if call_id is not None:
            self._answer(call_id, message)
            return
        session_id = message.get("sessionId")
        session = self.root if session_id is None else self._sessions.get(session_id)
        if session is not None and session.listener is not None:
            session.listener(message["method"], message.get("params", {}))

    def _answer(self, call_id: int, message: Params) -> None:
        waiting = self._pending.get(call_id)
        if waiting is None or waiting[2].done():
            return
        method, _, future = waiting
        if "error" in message:
            error = message["error"]
            future.set_exception(CallRefusedError(method, error.get("code", 0), error.get("message", "")))
        else:
            future.set_result(message.get("result", {}))
