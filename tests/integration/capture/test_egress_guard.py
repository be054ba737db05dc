"""The guard itself: what it speaks, where it connects, and that bytes and endings pass unchanged."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from comity.capture.egress import guard as guard_module
from comity.capture.egress.book import Refused, Unreached
from comity.capture.egress.guard import EgressGuard
from comity.polite.rules.addresses import egress_rules

T = TypeVar("T")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
OPENED: list[asyncio.StreamWriter] = []
SUCCEEDED, FAILED, NOT_ALLOWED, UNREACHABLE, REFUSED, UNKNOWN_COMMAND, UNKNOWN_ADDRESS = 0, 1, 2, 4, 5, 7, 8


@pytest.fixture(autouse=True)
async def opened() -> AsyncIterator[list[asyncio.StreamWriter]]:
    """What a test connects is broken off at its end."""
    yield OPENED
    for writer in OPENED:
        writer.transport.abort()
    OPENED.clear()
    await asyncio.sleep(0)


async def within(work: Awaitable[T], budget_s: float = 5) -> T:
    return await asyncio.wait_for(work, budget_s)


@contextlib.asynccontextmanager
async def serving(handler: Handler, address: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port of a server that does so with each connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, address, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextlib.asynccontextmanager
async def guarding(allow: str = "127.0.0.0/8", *lookups: Sequence[str], deny: str = "") -> AsyncIterator[EgressGuard]:
    """A guard whose resolver gives these answers in turn, the last one for ever."""
    answers = list(lookups)

    async def lookup(_: str) -> Sequence[str]:
        if not answers:
            raise OSError("Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    guard = EgressGuard(egress_rules(allow, deny), lookup=lookup, kept_s=0)
    await guard.start()
    try:
        yield guard
    finally:
        await guard.end()


async def ask(guard: EgressGuard, host: str, port: int, *, kind: int = 3) -> tuple[int, Streams]:
    """The reply to a request for `host`, and the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", guard.ports.pages)
    OPENED.append(writer)
    writer.write(b"\x05\x01\x00")
    assert await within(reader.readexactly(2)) == b"\x05\x00"
    if kind == 3:
        packed = bytes([len(host)]) + host.encode()
    else:
        packed = socket.inet_pton(socket.AF_INET if kind == 1 else socket.AF_INET6, host)
    writer.write(b"\x05\x01\x00" + bytes([kind]) + packed + struct.pack("!H", port))
    reply = await within(reader.readexactly(10))
    return reply[1], (reader, writer)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize(
    ("host", "kind"), [("127.0.0.1", 3), ("127.0.0.1", 1), ("::ffff:127.0.0.1", 4), ("localhost", 3), ("a.example", 3)]
)
async def test_every_form_of_a_host_is_judged_and_reached(host: str, kind: int) -> None:
    async with (
        serving(echo) as port,
        guarding("", ["127.0.0.1"]) as closed,
        guarding("127.0.0.1", ["127.0.0.1"]) as opened,
    ):
        code, _ = await ask(closed, host, port, kind=kind)
        assert code == NOT_ALLOWED
        assert isinstance(closed.book.failure_of(f"http://{host if kind != 4 else f'[{host}]'}:{port}/"), Refused)
        code, (reader, writer) = await ask(opened, host, port, kind=kind)
        assert code == SUCCEEDED
        writer.write(b"tide")
        assert await within(reader.readexactly(4)) == b"tide"


async def test_rebinding_name_is_judged_at_every_connection_and_never_looked_up_twice_for_one() -> None:
    async with (
        serving(echo) as port,
        guarding(f"127.0.0.1:{port}", ["127.0.0.1"], ["10.0.0.1"], ["127.0.0.2"]) as guard,
    ):
        codes = [(await ask(guard, "rebinding.example", port))[0] for _ in range(3)]
        assert codes == [SUCCEEDED, NOT_ALLOWED, NOT_ALLOWED]
        assert guard.book.address_of(f"http://rebinding.example:{port}/") == "127.0.0.1"
        assert guard.book.refusals == 2


async def test_address_that_answered_before_is_asked_first() -> None:
    async with serving(echo, "127.0.0.7") as port, guarding("127.0.0.0/8", ["127.0.0.8", "127.0.0.7"]) as guard:
        url = f"https://two.example:{port}/"
        assert guard.book.address_of(url) is None
        for _ in range(2):
            assert (await ask(guard, "two.example", port))[0] == SUCCEEDED
            assert guard.book.address_of(url) == "127.0.0.7"
        assert guard.book.failure_of(url) is None


async def test_failures_are_named_as_the_browser_would() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        async with guarding() as guard:
            assert (await ask(guard, "127.0.0.1", port))[0] == REFUSED
            assert (await ask(guard, "nobody.example", 80))[0] == UNREACHABLE
            refused, unknown = (
                guard.book.failure_of(f"http://{at}/") for at in (f"127.0.0.1:{port}", "nobody.example")
            )
            assert isinstance(refused, Unreached)
            assert isinstance(unknown, Unreached)
            assert [refused.error, unknown.error] == ["net::ERR_CONNECTION_REFUSED", "net::ERR_NAME_NOT_RESOLVED"]
            guard.book.begin()
            assert guard.book.failure_of("http://nobody.example/") is None


async def test_guard_and_closed_endpoints_are_refused_though_all_is_allowed() -> None:
    async with serving(echo) as port, guarding("0.0.0.0/0,::/0", deny=f"127.0.0.1:{port}") as guard:
        own = guard.ports
        for host, where in (("127.0.0.1", own.pages), ("0.0.0.0", own.sockets), ("127.0.0.1", port), ("127.1", port)):
            assert (await ask(guard, host, where))[0] == NOT_ALLOWED


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b""),
        (b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n", b""),
        (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b""),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", b"\x05\x00\x05\x07"),
        (b"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50", b"\x05\x00\x05\x07"),
        (b"\x05\x01\x00\x05\x01\x00\x09", b"\x05\x00\x05\x08"),
        (b"\x05\x01\x00\x05\x01\x00\x03\x02\xff\xff\x00\x50", b"\x05\x00\x05\x08"),
        (b"\x05\x01\x00\x05\x01", b"\x05\x00"),
    ],
)
async def test_nothing_else_is_proxied(said: bytes, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "HANDSHAKE_BUDGET_S", 0.3)
    async with guarding() as guard:
        reader, writer = await asyncio.open_connection("127.0.0.1", guard.ports.pages)
        OPENED.append(writer)
        writer.write(said)
        heard = await within(reader.read())
        assert heard.startswith(answer)
        assert bool(heard) is bool(answer)
        writer.close()


async def test_megabytes_pass_unchanged_in_both_directions_at_once() -> None:
    async with serving(echo) as port, guarding() as guard:
        _, (reader, writer) = await ask(guard, "127.0.0.1", port)
        sent = os.urandom(8 * 1024 * 1024)

        async def send() -> None:
            writer.write(sent)
            await writer.drain()

        sending = asyncio.create_task(send())
        assert await within(reader.readexactly(len(sent)), 20) == sent
        await sending
        writer.close()


async def test_site_that_is_not_read_is_not_read_for_the_browser() -> None:
    taken = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            taken += 65536

    async with serving(flood) as port, guarding() as guard:
        _, (_, writer) = await ask(guard, "127.0.0.1", port)
        before = -1
        for _ in range(50):  # until the kernel's and our own buffers are full
            await asyncio.sleep(0.1)
            if taken == before:
                break
            before = taken
        assert taken == before
        assert taken < 32 * 1024 * 1024
        writer.transport.abort()


async def test_end_of_the_site_reaches_the_browser_after_its_last_byte() -> None:
    async def last_words(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"farewell")

    async with serving(last_words) as port, guarding() as guard:
        _, (reader, writer) = await ask(guard, "127.0.0.1", port)
        assert await within(reader.read()) == b"farewell"
        writer.close()


async def test_reset_of_the_site_is_a_reset_for_the_browser() -> None:
    async def break_off(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with serving(break_off) as port, guarding() as guard:
        _, (reader, writer) = await ask(guard, "127.0.0.1", port)
        with pytest.raises(ConnectionResetError):
            await within(reader.read())
        writer.close()


@pytest.mark.parametrize("abruptly", [False, True])
async def test_hang_up_of_the_browser_reaches_a_site_that_is_silent(abruptly: bool) -> None:
    ended = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with serving(wait) as port, guarding() as guard:
        _, (_, writer) = await ask(guard, "127.0.0.1", port)
        if abruptly:
            writer.transport.abort()
        else:
            writer.close()
        await within(ended.wait())


async def test_end_breaks_every_connection_off() -> None:
    async with serving(silent) as port, guarding() as guard:
        streams = [(await ask(guard, "127.0.0.1", port))[1] for _ in range(5)]
        await within(guard.end())
        for reader, writer in streams:
            with contextlib.suppress(ConnectionResetError):
                assert await within(reader.read()) == b""
            writer.close()
        with pytest.raises(RuntimeError):
            _ = guard.ports
