"""A small web on loopback: pages that a test writes down, and every request as it came."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """`at` is monotonic, in seconds; header names are in lower case."""

    path: str
    headers: dict[str, str]
    at: float


@dataclass(frozen=True)
class Answer:
    """`declared_bytes`: a content-length that is not the body's. `wait_s`: so long nothing comes at all."""

    body: bytes = b""
    content_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    declared_bytes: int | None = None
    wait_s: float = 0


def page(html: str, **more: Any) -> Answer:
    return Answer(html.encode(), **more)


def redirect(to: str) -> Answer:
    return Answer(status=302, headers={"location": to})


class Web:
    """`pages` by path, query included; a function is asked each time. What is not there is a 404."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.pages: dict[str, Answer | Callable[[Request], Answer]] = {}
        self.asked: list[Request] = []
        self._server = ThreadingHTTPServer((host, 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self.authority = self.url.removeprefix("http://")

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def answer_to(self, request: Request) -> Answer:
        self.asked.append(request)
        found = self.pages.get(request.path, Answer(b"no such page", status=404))
        return found if isinstance(found, Answer) else found(request)


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[Web]:
    web = Web(host)
    thread = threading.Thread(target=web._server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web._server.shutdown()
        web._server.server_close()
        thread.join()


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handling(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
            pass

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = web.answer_to(Request(self.path, headers, time.monotonic()))
            time.sleep(answer.wait_s)
            self.send_response(answer.status)
            if answer.content_type is not None:
                self.send_header("content-type", answer.content_type)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            length = len(answer.body) if answer.declared_bytes is None else answer.declared_bytes
            self.send_header("content-length", str(length))
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except OSError:  # the caller has hung up, which some tests are about
                self.close_connection = True
            if length != len(answer.body):
                self.close_connection = True

    return Handling
