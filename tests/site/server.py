"""A small HTTP/1.1 server on many loopback addresses, with control over every byte.

Written by hand because its work is to misbehave: stall, cut, lie about lengths. It keeps connections alive, answers
HEAD, takes bodies by length or in chunks, and logs each request with its times.
"""

import asyncio
import contextlib
import errno
import inspect
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

from tests.site.log import RequestLog
from tests.site.wire import Handler, Request, Response, text

HEAD_LIMIT_BYTES = 64 * 1024
IDLE_S = 75.0
LOOK_S = 0.02
"""How often a wait looks whether the other side has left."""
PORT_TRIES = 50


class PeerLeftError(Exception):
    """The client closed the connection while we were at it."""


class MalformedError(Exception):
    """The request could not be read; the connection is closed."""


LOOPBACK_NETWORK = "127.0.0"


def address_of(host_index: int, network: str = LOOPBACK_NETWORK) -> str:
    """Host 0 is number 2 of its network, 127.0.0.2: 127.0.0.1 stays free for whatever else the machine runs."""
    return f"{network}.{host_index + 2}"


def bind_all(hosts: int, port: int, network: str = LOOPBACK_NETWORK) -> list[socket.socket]:
    """One listening socket per host, all on one port; port 0 looks for one that is free everywhere."""
    for _ in range(PORT_TRIES):
        sockets: list[socket.socket] = []
        wanted = port
        try:
            for index in range(hosts):
                # With the protocol named, asyncio turns Nagle's delay off; without it each answer takes 40 ms.
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
                sockets.append(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address_of(index, network), wanted))
                sock.listen(256)
                wanted = sock.getsockname()[1]
        except OSError as error:
            for sock in sockets:
                sock.close()
            if port or error.errno != errno.EADDRINUSE:
                raise
        else:
            return sockets
    raise OSError(errno.EADDRINUSE, f"no port is free on all of {hosts} addresses of {network}.0/24")


@dataclass(slots=True)
class Exchange:
    """What has gone out so far in answer to one request."""

    status: int | None = None
    bytes_sent: int = 0
    location: str | None = None
    keep: bool = True


class Server:
    """Serves what `find` returns for each request, from sockets that are already bound."""

    def __init__(self, find: Callable[[Request], Handler | Response], log: RequestLog) -> None:
        self._find = find
        self._log = log
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, sockets: list[socket.socket]) -> None:
        for index, sock in enumerate(sockets):
            address, port = sock.getsockname()[:2]
            authority = f"{address}:{port}"
            self._servers.append(
                await asyncio.start_server(self._accept(index, authority), sock=sock, limit=HEAD_LIMIT_BYTES)
            )

    async def stop(self) -> None:
        """Ends at once: listeners first, then every connection, whatever it was doing."""
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    def _accept(self, host_index: int, authority: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.get_running_loop().create_task(self._serve(reader, writer, host_index, authority))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        return accept

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host_index: int, authority: str
    ) -> None:
        try:
            keep = True
            while keep:
                request = await asyncio.wait_for(read_request(reader, host_index, authority), IDLE_S)
                keep = request is not None and await self._answer(request, reader, writer)
        except (TimeoutError, MalformedError, ConnectionError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()  # whoever does not read must not hold up the end
            raise
        finally:
            await hang_up(writer)

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        entry = self._log.begin(request)
        exchange = Exchange()
        try:
            response = await self._respond(request)
            await send(response, request, exchange, reader, writer)
            return exchange.keep and request.headers.get("connection", "").lower() != "close"
        except (PeerLeftError, ConnectionError):
            return False
        finally:
            self._log.finish(
                entry.number,
                status=exchange.status,
                bytes_sent=exchange.bytes_sent,
                location=exchange.location,
            )

    async def _respond(self, request: Request) -> Response:
        found = self._find(request)
        if isinstance(found, Response):
            return found
        try:
            answer = found(request)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # a test's own handler: its fault must be seen, not hang the browser
            return text(f"The handler of {request.target} failed: {error!r}\n", status=500)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close after what is written has gone out; for a second at most."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        try:
            await asyncio.wait_for(writer.wait_closed(), 1)
        except TimeoutError:
            writer.transport.abort()


async def read_request(reader: asyncio.StreamReader, host_index: int, authority: str) -> Request | None:
    """The next request of a connection, or None when the client has left."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise MalformedError("the request head is over 64 KiB") from error
    line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not parts[1].startswith("/"):
        raise MalformedError(f"not a request line: {line[:80]!r}")
    headers: dict[str, str] = {}
    for one in fields:
        name, _, value = one.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await read_body(reader, headers)
    return Request(parts[0], parts[1], host_index, authority, headers, body)


async def read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).split(b";")[0].strip() or b"0", 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        return body
    length = headers.get("content-length", "0")
    return await reader.readexactly(int(length)) if length.isdigit() and int(length) else b""


async def pause(seconds: float, reader: asyncio.StreamReader) -> None:
    """Wait, but no longer than the other side does; infinite seconds wait for it to leave."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while (left := until - loop.time()) > 0:
        if reader.at_eof() or reader.exception() is not None:
            raise PeerLeftError
        await asyncio.sleep(min(left, LOOK_S))


async def send(
    response: Response,
    request: Request,
    exchange: Exchange,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    await pause(response.delay_ms / 1000, reader)
    if response.silent:
        await pause(float("inf"), reader)
    if response.drop:
        writer.transport.abort()
        raise PeerLeftError
    bodyless = request.method == "HEAD" or response.status in (204, 304) or response.status < 200
    chunked = not bodyless and callable(response.body) and response.length is None
    writer.write(head_of(response, chunked=chunked))
    exchange.status = response.status
    exchange.location = next((value for name, value in response.headers if name.lower() == "location"), None)
    await writer.drain()
    if not bodyless:
        await send_body(response, exchange, reader, writer, chunked=chunked)


async def send_body(
    response: Response,
    exchange: Exchange,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    chunked: bool,
) -> None:
    faults = [limit for limit in (response.cut_after_bytes, response.stall_after_bytes) if limit is not None]
    allowed = min(faults, default=None)
    async for block in pieces(response):
        piece = block if allowed is None else block[: allowed - exchange.bytes_sent]
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked and piece else piece)
        exchange.bytes_sent += len(piece)
        await writer.drain()
        if reader.at_eof():
            raise PeerLeftError
        if allowed is not None and exchange.bytes_sent >= allowed:
            break
    if response.stall_after_bytes is not None:
        await pause(float("inf"), reader)
    if response.cut_after_bytes is not None:
        exchange.keep = False
        return
    if chunked:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    exchange.keep = response.length in (None, exchange.bytes_sent)


async def pieces(response: Response) -> AsyncIterator[bytes]:
    if callable(response.body):
        async for piece in response.body():
            yield piece
    else:
        yield response.body


def head_of(response: Response, *, chunked: bool) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unassigned"
    lines = [f"HTTP/1.1 {response.status} {phrase}"]
    fields = [("Date", formatdate(usegmt=True)), ("Server", "comity-fixture")]
    if response.content_type is not None and response.status not in (204, 304):
        fields.append(("Content-Type", response.content_type))
    if chunked:
        fields.append(("Transfer-Encoding", "chunked"))
    elif response.length is not None:
        fields.append(("Content-Length", str(response.length)))
    elif not callable(response.body) and response.status not in (204, 304):
        fields.append(("Content-Length", str(len(response.body))))
    if response.length is not None and isinstance(response.body, bytes) and response.length < len(response.body):
        # Left open, the surplus would be taken for the start of the next answer and fail another test's request.
        fields.append(("Connection", "close"))
    lines += [f"{name}: {value}" for name, value in (*fields, *response.headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
