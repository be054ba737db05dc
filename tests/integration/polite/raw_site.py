"""A server of bare bytes on loopback, for answers that no HTTP server would give, and for counting connections."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

Answer = Callable[["Call"], Awaitable[None]]


@dataclass(slots=True)
class Call:
    """One request on one connection."""

    head: bytes
    connection: int
    """Connections count from 1."""
    writer: asyncio.StreamWriter

    @property
    def target(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @property
    def method(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.decode("latin-1").partition(":")
            if key.lower() == name:
                return value.strip()
        return None

    async def send(self, *blocks: bytes) -> None:
        for block in blocks:
            self.writer.write(block)
            await self.writer.drain()

    def hang_up(self) -> None:
        self.writer.close()


@dataclass(slots=True)
class RawSite:
    """`calls` are the requests that came whole; `left` counts connections that ended from the other side."""

    port: int = 0
    connections: int = 0
    calls: list[Call] = field(default_factory=list)
    left: int = 0

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until that is so; fails after 30 s."""
        async with asyncio.timeout(30):
            while not true():
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def raw_site(
    answer: Answer, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[RawSite]:
    """Serves until the block ends; `answer` is asked for each request."""
    site = RawSite()
    open_writers: set[asyncio.StreamWriter] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        site.connections += 1
        number = site.connections
        open_writers.add(writer)
        try:
            while not writer.is_closing():
                call = Call(await reader.readuntil(b"\r\n\r\n"), number, writer)
                site.calls.append(call)
                await answer(call)
        except (asyncio.IncompleteReadError, OSError):
            site.left += 1
        finally:
            open_writers.discard(writer)
            writer.close()

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for writer in open_writers:
            writer.close()
        await asyncio.sleep(0)


def ok(body: bytes = b"hello", *headers: str) -> bytes:
    """A plain answer."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def answering(*blocks: bytes, hang_up: bool = False) -> Answer:
    """Always the same bytes."""

    async def answer(call: Call) -> None:
        await call.send(*blocks)
        if hang_up:
            call.hang_up()

    return answer
