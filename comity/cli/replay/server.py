"""The origin that archives are replayed on: the player, the pages that show it, the named archives, and nothing else.

Replayed pages run their own scripts, so their origin must hold nothing worth having: it has a port, and a process, to
itself. Pages and archives lie below a random path: others on this machine cannot guess it, and what a browser keeps of
an earlier replay on the same port is never taken for this one. Answers to byte ranges (RFC 9110, 14) are what a player
reads a large archive with.
"""

import functools
import http.server
import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from comity.cli.replay.page import archive_path, list_page, view_page, view_path
from comity.cli.replay.player import Player
from comity.cli.replay.shelf import Shelf

LOOPBACK = "127.0.0.1"
SLICE_BYTES = 1 << 18
IDLE_S = 60
"""A browser's connection that asks nothing for so long is closed."""
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
ONLY_FROM_HERE = "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' data: blob:; form-action 'self'"
"""For the player and its worker: what an archive lacks is missing, and never fetched from the live web."""


@dataclass(frozen=True)
class Served:
    """What one path answers: a file, or bytes."""

    kind: str
    file: Path | None = None
    data: bytes = b""


def served_paths(player: Player, shelf: Shelf, base: str) -> dict[str, Served]:
    """Every path of the origin; pages and archives below `base`."""
    ui, worker = Served("text/javascript", player.ui), Served("text/javascript", player.worker)
    # The player's worker loads its script beside itself, so that the same file is asked for under both paths.
    paths = {"/ui.js": ui, "/replay/ui.js": ui, "/replay/sw.js": worker}
    paths[f"{base}/"] = Served("text/html; charset=utf-8", data=list_page(shelf, base).encode())
    for number, archive in enumerate(shelf.archives):
        paths[archive_path(number, base)] = Served("application/wacz", archive)
    for number, item in enumerate(shelf.items):
        if item.archive is not None:
            page = view_page(shelf, number, base).encode()
            paths[view_path(number, base)] = Served("text/html; charset=utf-8", data=page)
    return paths


def byte_range(asked: str | None, size_bytes: int) -> range | None:
    """The bytes that a `Range` header asks for. None: the whole, also for what is no single range of bytes.

    Raises ValueError for a range that begins behind the end (416). A suffix longer than the file is the whole file.
    """
    found = _RANGE.fullmatch(asked.strip()) if asked else None
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        start, end = max(0, size_bytes - int(last)), size_bytes - 1
    else:
        start, end = int(first), min(int(last or size_bytes), size_bytes - 1)
        if last and int(last) < start:
            return None
    if start >= size_bytes or end < start:
        raise ValueError(f"bytes */{size_bytes}")
    return range(start, end + 1)


class ReplayServer(http.server.ThreadingHTTPServer):
    """Listens on a free loopback port as soon as it is made. `serve_forever` until `shutdown`."""

    daemon_threads = True

    def __init__(self, player: Player, shelf: Shelf) -> None:
        self._base = f"/{secrets.token_urlsafe(16)}"
        self.paths = served_paths(player, shelf, self._base)
        super().__init__((LOOPBACK, 0), _Handler)
        self.origin = f"http://{LOOPBACK}:{self.server_port}"

    @property
    def first_page(self) -> str:
        """Where to begin: the only page there is, else the list."""
        views = [path for path in self.paths if path.startswith(f"{self._base}/view/")]
        return self.origin + (views[0] if len(views) == 1 else f"{self._base}/")

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away in mid-answer is its right."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: ReplayServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S

    def _answer(self, *, with_body: bool) -> None:
        # Any other name for this address is a page elsewhere that has had its own name point here.
        if self.headers.get("Host") != f"{LOOPBACK}:{self.server.server_port}":
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return
        served = self.server.paths.get(self.path.partition("?")[0])
        if served is None:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        if served.file is None:
            self._head(served, HTTPStatus.OK, len(served.data))
            if with_body:
                self.wfile.write(served.data)
            return
        try:
            with served.file.open("rb") as source:
                self._send_file(served, source, with_body=with_body)
        except FileNotFoundError:
            self._refuse(HTTPStatus.GONE)

    def _send_file(self, served: Served, source: BinaryIO, *, with_body: bool) -> None:
        size = source.seek(0, 2)
        try:
            part = byte_range(self.headers.get("Range"), size)
        except ValueError as unsatisfiable:
            self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, ("Content-Range", str(unsatisfiable)))
            return
        whole = part if part is not None else range(size)
        if part is None:
            self._head(served, HTTPStatus.OK, size)
        else:
            place = f"bytes {part.start}-{part.stop - 1}/{size}"
            self._head(served, HTTPStatus.PARTIAL_CONTENT, len(part), ("Content-Range", place))
        if not with_body:
            return
        source.seek(whole.start)
        left = len(whole)
        while left and (piece := source.read(min(SLICE_BYTES, left))):
            self.wfile.write(piece)
            left -= len(piece)
        if left:  # the file was cut while it was read: a short answer must not look whole
            self.close_connection = True

    def _head(self, served: Served, status: HTTPStatus, length: int, *more: tuple[str, str]) -> None:
        self.send_response(status)
        named = [
            ("Content-Type", served.kind),
            ("Content-Length", str(length)),
            ("Accept-Ranges", "bytes" if served.file else "none"),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", ONLY_FROM_HERE),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            *more,
        ]
        for name, value in named:
            self.send_header(name, value)
        self.end_headers()

    def _refuse(self, status: HTTPStatus, *more: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Length", "0"), *more):
            self.send_header(name, value)
        self.end_headers()

    do_GET = functools.partialmethod(_answer, with_body=True)  # noqa: N815 - the name that http.server calls
    do_HEAD = functools.partialmethod(_answer, with_body=False)  # noqa: N815 - the name that http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Silence: the terminal belongs to the person at it."""
