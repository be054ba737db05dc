"""Answers that are slow, wrong, cut, huge or plainly an error. Each handler names its query parameters."""

import asyncio
import gzip
import hashlib
import zlib
from collections.abc import AsyncIterator

from tests.site.wire import Request, Response, html, redirect, stream, text

LANDED = html("<!doctype html><title>Landed</title><h1>You have landed</h1>")
PARAGRAPH = "<p>The same sentence again and again, because it packs well.</p>\n"


def status(request: Request) -> Response:
    """`/status/NNN`; redirects lead to `/zoo/landed`."""
    number = request.path.rpartition("/")[2]
    if not number.isdigit() or not 200 <= int(number) <= 999:
        return text("A status is a number from 200 to 999.\n", status=404)
    code = int(number)
    if code in (204, 304):
        return Response(status=code)
    if code in (301, 302, 303, 307, 308):
        return redirect("/zoo/landed", status=code)
    extra = (("WWW-Authenticate", 'Basic realm="zoo"'),) if code == 401 else ()
    return html(f"<!doctype html><title>{code}</title><h1>Status {code}</h1>", status=code, headers=extra)


def slow(request: Request) -> Response:
    """`?ms=`: so long before the first byte."""
    delay_ms = request.number("ms", 1000)
    body = f"<!doctype html><title>Slow</title><h1>This took {delay_ms} ms</h1>"
    return Response(body=body.encode(), delay_ms=delay_ms)


def large(request: Request) -> Response:
    """`?bytes=` and `?type=`: a body of that size, never in memory."""
    size = request.number("bytes", 1_000_000)
    return Response(body=stream(size), content_type=request.query("type", "application/octet-stream"), length=size)


def chunked(request: Request) -> Response:
    """`?bytes=`: text in chunks, without a length."""
    return Response(body=stream(request.number("bytes", 200_000)), content_type="text/plain")


def drip(request: Request) -> Response:
    """`?bytes=&ms=`: a pause of so long before each byte; the length is known from the start."""
    size, pause_ms = request.number("bytes", 20), request.number("ms", 100)

    async def produce() -> AsyncIterator[bytes]:
        for _ in range(size):
            await asyncio.sleep(pause_ms / 1000)
            yield b"."

    return Response(body=produce, content_type="text/plain", length=size)


def stall(request: Request) -> Response:
    """`/stall/silent`: never a byte; `/stall/head`: a head only; `/stall/body?bytes=`: silent in mid-body."""
    kind = request.path.rpartition("/")[2]
    if kind == "silent":
        return Response(silent=True)
    opening = b"<!doctype html><title>Stalled</title><h1>And then</h1>" + b" " * 100_000
    return Response(
        body=opening, length=1_000_000, stall_after_bytes=0 if kind == "head" else request.number("bytes", 60)
    )


def cut(request: Request) -> Response:
    """`?bytes=`, `?chunked`: hang up in mid-body."""
    after = request.number("bytes", 60)
    if "chunked" in request.target:
        return Response(body=stream(1_000_000), content_type="text/html", cut_after_bytes=after)
    body = b"<!doctype html><title>Cut</title><h1>This sentence will not</h1>" + b" " * 100_000
    return Response(body=body, cut_after_bytes=after)


def length(request: Request) -> Response:
    """`/length/long`: claims 100 bytes more than come; `/length/short`: 20 fewer."""
    body = b"<!doctype html><title>Length</title><h1>How long is this?</h1>"
    off = 100 if request.path.endswith("long") else -20
    claimed = len(body) + off
    return Response(body=body, length=claimed, cut_after_bytes=len(body) if off > 0 else None)


def drop(request: Request) -> Response:
    """The connection is reset without an answer."""
    return Response(drop=True)


def packed(request: Request) -> Response:
    """`/gzip`; `/gzip/broken` (bytes turned over), `/gzip/truncated`, `/gzip/lie` (not gzip at all)."""
    plain = f"<!doctype html><title>Packed</title>{PARAGRAPH * 200}".encode()
    body = gzip.compress(plain, mtime=0)
    kind = request.path.removeprefix("/gzip").strip("/")
    if kind == "broken":
        middle = len(body) // 2
        body = body[:middle] + bytes(255 - byte for byte in body[middle:])
    elif kind == "truncated":
        body = body[: len(body) // 2]
    elif kind == "lie":
        body = plain
    return Response(body=body, headers=(("Content-Encoding", "gzip"),))


def bomb(request: Request) -> Response:
    """`?mb=`: that many MiB of zeros, about a thousandth of it on the wire."""
    mebibytes = request.number("mb", 100)

    async def produce() -> AsyncIterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for _ in range(mebibytes):
            yield packer.compress(b"\0" * 1_048_576)
        yield packer.flush()

    return Response(body=produce, content_type="text/plain", headers=(("Content-Encoding", "gzip"),))


def moved(request: Request) -> Response:
    """`/redirect/to?url=&code=`, `/redirect/chain?n=&code=`, `/redirect/loop`, `/redirect/nowhere`."""
    code = request.number("code", 302)
    kind = request.path.rpartition("/")[2]
    if kind == "to":
        return redirect(request.query("url", "/zoo/landed"), status=code)
    if kind == "chain":
        left = request.number("n", 3)
        return redirect(f"/redirect/chain?n={left - 1}&code={code}", status=code) if left > 0 else LANDED
    if kind == "loop":
        return redirect("/redirect/loop", status=code)
    return html("<!doctype html><title>Nowhere</title>", status=302)


def not_modified(request: Request) -> Response:
    """Has an ETag and a date; answers 304 to who knows either."""
    body = b"<!doctype html><title>Unchanged</title><h1>As it was yesterday</h1>"
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    date = "Sat, 01 Mar 2025 08:00:00 GMT"
    extra = (("ETag", tag), ("Last-Modified", date))
    if request.headers.get("if-none-match") == tag or request.headers.get("if-modified-since") == date:
        return Response(status=304, headers=extra)
    return Response(body=body, headers=extra)


def echo(request: Request) -> Response:
    """The method and body that arrived, as text."""
    return text(f"{request.method} {request.body.decode(errors='replace')}")


def download(request: Request) -> Response:
    """An attachment."""
    return Response(
        body=b"tree,arguments\nOld Ned,3\n",
        content_type="text/csv",
        headers=(("Content-Disposition", 'attachment; filename="orchard.csv"'),),
    )
