"""One HTTP/1.1 exchange on a connection of its own, which another thread can end at any moment.

A capture takes up to 145 s, and the way to cancel it is to hang up. Blocking sockets notice nothing for that long, and
a client with a pool may keep the connection open; so the socket never blocks, every wait is cut into slices, and
between slices the exchange looks whether it is to stop. Where the connection ends before the first byte of the request
went out, nobody has acted on it; afterwards nobody knows. The two are different errors.
"""

import errno
import os
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import h11

from blocks.clients.errors import AnswerUnreadable, ConnectionLost, DeadlinePassed, HungUp, ServiceUnreachable

SLICE_S = 0.2
"""How often a waiting exchange looks whether it is to stop: cancelling takes a moment, not the page's time."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Beyond this an answer is not a report but a fault."""
_CHUNK_BYTES = 65_536
_UNDER_WAY = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY}

T = TypeVar("T")


@dataclass(frozen=True)
class Answered:
    """Status, headers with lower-case names, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Exchange:
    """A connection to `url` for one request. `stop` set by any thread ends it within a second with HungUp.

    `deadline_ms` is for everything together, from looking the name up to the last byte of the answer.
    """

    def __init__(
        self,
        part: str,
        url: str,
        *,
        tls: ssl.SSLContext | None,
        stop: threading.Event,
        deadline_ms: int,
        connect_timeout_ms: int,
    ) -> None:
        self._part = part
        self._url = url
        self._tls = tls
        self._stop = stop
        self._deadline_ms = deadline_ms
        self._ends_at = time.monotonic() + deadline_ms / 1000
        self._connect_timeout_ms = connect_timeout_ms
        self._connect_ends_at: float | None = None
        self._socket: socket.socket | None = None
        self._sent = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._socket is not None:
            self._socket.close()

    def post(self, path: str, headers: dict[str, str], body: bytes) -> Answered:
        """Send one POST and read its whole answer. Raises a ServiceError."""
        parts = urlsplit(self._url)
        self._look()
        try:
            opened = self._connect(parts.hostname or "", parts.port or (443 if self._tls else 80))
        except OSError as error:  # TLS failures are OSErrors too
            raise ServiceUnreachable(
                self._part, self._url, _said(error), f"check that the {self._part} runs, its address and its CA"
            ) from error
        connection = h11.Connection(h11.CLIENT)
        head = {"host": parts.netloc.rpartition("@")[2], "connection": "close", "content-length": str(len(body))}
        request = h11.Request(method="POST", target=parts.path + path, headers=list((head | headers).items()))
        try:
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                self._send(opened, connection.send(event) or b"")
            return self._receive(opened, connection)
        except (OSError, h11.RemoteProtocolError) as error:
            if not self._sent:
                raise ServiceUnreachable(self._part, self._url, _said(error), f"see the {self._part}'s log") from error
            raise ConnectionLost(
                self._part, self._url, f"connection lost after sending: {_said(error)}", f"see the {self._part}'s log"
            ) from error

    # --- connecting

    def _connect(self, host: str, port: int) -> socket.socket:
        self._connect_ends_at = time.monotonic() + self._connect_timeout_ms / 1000
        problems: list[OSError] = []
        for family, kind, protocol, _, address in self._look_up(host, port):
            try:
                opened = self._open(socket.socket(family, kind, protocol), address, host)
            except OSError as error:
                problems.append(error)
            else:
                self._connect_ends_at = None
                return opened
        raise problems[-1] if problems else OSError("the name has no address")

    def _look_up(self, host: str, port: int) -> list[Any]:
        """Resolve in a thread: a resolver that hangs must not hold a capture that is to stop."""
        found: list[Any] = []
        problems: list[OSError] = []
        over = threading.Event()

        def resolve() -> None:
            try:
                found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except OSError as error:
                problems.append(error)
            finally:
                over.set()

        threading.Thread(target=resolve, name=f"look up {host}", daemon=True).start()
        while not over.wait(SLICE_S):
            self._look()
        if problems:
            raise problems[0]
        return found

    def _open(self, plain: socket.socket, address: Any, host: str) -> socket.socket:
        if self._socket is not None:
            self._socket.close()
        self._socket = plain
        plain.setblocking(False)
        number = plain.connect_ex(address)
        if number in _UNDER_WAY:
            self._wait(selectors.EVENT_WRITE)
            number = plain.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))
        if self._tls is None:
            return plain
        secure = self._tls.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        self._socket = secure
        self._patiently(secure.do_handshake, selectors.EVENT_READ)
        return secure

    # --- sending and receiving

    def _send(self, opened: socket.socket, data: bytes) -> None:
        left = memoryview(data)
        while left:
            count = self._patiently(partial(opened.send, left), selectors.EVENT_WRITE)
            self._sent = True
            left = left[count:]

    def _receive(self, opened: socket.socket, connection: h11.Connection) -> Answered:
        response: h11.Response | None = None
        body = bytearray()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                data = self._patiently(partial(opened.recv, _CHUNK_BYTES), selectors.EVENT_READ)
                if not data and response is None:
                    raise ConnectionError("closed without an answer")
                connection.receive_data(data)
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > MAX_ANSWER_BYTES:
                    raise AnswerUnreadable(self._part, self._url, f"answered with over {MAX_ANSWER_BYTES} bytes")
            elif isinstance(event, h11.EndOfMessage) and response is not None:
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
                return Answered(status=response.status_code, headers=headers, body=bytes(body))

    # --- waiting

    def _patiently(self, step: Callable[[], T], event: int) -> T:
        """`step` until it does not ask to wait; `event` is what a plain socket waits for."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self._wait(selectors.EVENT_READ)
            except ssl.SSLWantWriteError:
                self._wait(selectors.EVENT_WRITE)
            except BlockingIOError:
                self._wait(event)

    def _wait(self, event: int) -> None:
        """Until the socket is ready for `event`."""
        assert self._socket is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, event)
            self._look()
            while not selector.select(SLICE_S):
                self._look()

    def _look(self) -> None:
        """Raise where the exchange is to end now."""
        if self._stop.is_set():
            raise HungUp(self._part, self._url)
        now = time.monotonic()
        if now > self._ends_at:
            raise DeadlinePassed(self._part, self._url, self._deadline_ms)
        if self._connect_ends_at is not None and now > self._connect_ends_at:
            raise TimeoutError(f"no connection within {self._connect_timeout_ms} ms")


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
