"""What a handler of the fixture web is given and gives back.

A `Response` says not only what is sent but how it goes wrong: late, short, long, cut, never.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. Header names are lower case."""

    method: str
    target: str
    """Path and query as sent."""
    host_index: int
    authority: str
    """`127.0.0.N:port` of the listener that took it, whatever the Host header said."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    def query(self, name: str, otherwise: str = "") -> str:
        """The first value of a query parameter, or `otherwise`."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True).get(name, [otherwise])[0]

    def number(self, name: str, otherwise: int) -> int:
        """A whole-number query parameter; anything that is not one counts as `otherwise`."""
        text = self.query(name)
        return int(text) if text.isascii() and text.isdigit() else otherwise

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (piece.strip().partition("=") for piece in self.headers.get("cookie", "").split(";"))
        return {name: value for name, _, value in pairs if name}


Body = bytes | Callable[[], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, and what is wrong with it."""

    status: int = 200
    body: Body = b""
    content_type: str | None = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    delay_ms: int = 0
    """Wait before the first byte."""
    length: int | None = None
    """Content-Length to claim; None claims the truth, or sends chunks where the body is a stream."""
    cut_after_bytes: int | None = None
    """Hang up once so many body bytes went out."""
    stall_after_bytes: int | None = None
    """Fall silent once so many body bytes went out, until the other side hangs up."""
    silent: bool = False
    """Never answer at all; the connection stays open until the other side leaves."""
    drop: bool = False
    """Reset the connection without a byte."""

    def with_headers(self, *pairs: tuple[str, str]) -> "Response":
        return replace(self, headers=(*self.headers, *pairs))


Handler = Callable[[Request], Response | Awaitable[Response]]


def html(body: str, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(status=status, body=body.encode(), headers=headers)


def text(body: str, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(status=status, body=body.encode(), content_type="text/plain; charset=utf-8", headers=headers)


def redirect(to: str, *, status: int = 302) -> Response:
    body = f'<!doctype html><title>Moved</title><p>Moved to <a href="{to}">{to}</a>.'
    return html(body, status=status, headers=(("Location", to),))


def stream(size_bytes: int, *, block: bytes = b"0123456789abcdef" * 4096) -> Callable[[], AsyncIterator[bytes]]:
    """A body of `size_bytes` that never lies in memory."""

    async def produce() -> AsyncIterator[bytes]:
        left = size_bytes
        while left > 0:
            piece = block[: min(left, len(block))]
            left -= len(piece)
            yield piece

    return produce
