"""A real HTTP server on loopback whose answers a test scripts, and whose requests it reads."""

import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it. `at` is monotonic, in seconds."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any
    at: float


@dataclass(frozen=True)
class Reply:
    """An answer: `text`, else JSON body, after `wait` seconds. `cut`: the connection is closed instead."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0
    cut: bool = False
    text: str | None = None


Handler = Callable[[Asked], Reply]


class FakeServer:
    """Serves `handle` until closed. `hung_up` collects requests whose caller went away while they were held."""

    def __init__(self, handle: Handler, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.handle = handle
        self.asked: list[Asked] = []
        self.hung_up: list[tuple[Asked, float]] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler_for(self))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = int(self._server.server_address[1])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Nobody answers at this port any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def note(self, asked: Asked) -> None:
        """Keep a request."""
        with self._lock:
            self.asked.append(asked)

    def of(self, method: str, ending: str) -> list[Asked]:
        """The requests so far by method and end of path."""
        with self._lock:
            return [one for one in self.asked if one.method == method and one.path.endswith(ending)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up or fails TLS is a part of the test, not noise on stderr."""


def _handler_for(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handling(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
            pass

        def _serve(self) -> None:
            length = int(self.headers.get("content-length", 0))
            raw = self.rfile.read(length)
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(
                self.command, parts.path, parts.query, headers, json.loads(raw) if raw else None, time.monotonic()
            )
            fake.note(asked)
            reply = fake.handle(asked)
            if reply.wait and not self._held(asked, reply.wait):
                return
            if reply.cut:
                self.close_connection = True
                return
            body = json.dumps(reply.body).encode() if reply.text is None else reply.text.encode()
            self.send_response(reply.status)
            for name, value in ({"content-type": "application/json"} | reply.headers).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _held(self, asked: Asked, wait: float) -> bool:
            """Wait, and notice a caller that hangs up. True where the caller is still there."""
            ends_at = time.monotonic() + wait
            self.connection.settimeout(0.02)
            while time.monotonic() < ends_at:
                try:
                    gone = not self.connection.recv(1)
                except (TimeoutError, ssl.SSLWantReadError):
                    continue
                except OSError:
                    gone = True
                if gone:
                    fake.hung_up.append((asked, time.monotonic()))
                    self.close_connection = True
                    return False
            self.connection.settimeout(None)
            return True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    return Handling
