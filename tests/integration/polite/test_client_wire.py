"""What goes over the wire: odd HTTP, connections that are used again, and hanging up."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from tests.integration.polite.raw_site import Call, answering, ok, raw_site

LIMITS = GetLimits(first_byte_ms=20_000, total_ms=30_000)


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(Egress(egress_rules("127.0.0.0/8"))) as guarded:
        yield guarded


CONTINUES = b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
READABLE = [
    (b"HTTP/1.0 200 OK\r\n\r\nold and plain", b"old and plain"),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold", b"old"),
    (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", b"until the end"),
    (CONTINUES + ok(b"after noise"), b"after noise"),
    (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", b"ok"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n", b"abc"),
    (ok(b"x", f"Content-Security-Policy: {'a' * 20_000}"), b"x"),
]


@pytest.mark.parametrize(("answer", "body"), READABLE)
async def test_odd_http_is_read(client: GuardedClient, answer: bytes, body: bytes) -> None:
    async with raw_site(answering(answer, hang_up=True)) as site:
        got = await client.get(f"http://{site.authority}/", limits=LIMITS)
    assert isinstance(got, Fetched), got
    assert got.body == body


UNREADABLE = [
    (b"", "E_HTTP_FETCH"),
    (b"SSH-2.0-OpenSSH_9.9\r\n", "E_HTTP_FETCH"),
    (b"HTTP/1.1 200 OK\r\n", "E_HTTP_FETCH"),
    (b"HTTP/1.1 nonsense\r\n\r\n", "E_HTTP_FETCH"),
    (ok(b"x", f"X-Long: {'a' * 70_000}"), "E_HTTP_FETCH"),
    (ok(b"x", *(f"X-{number}: 1" for number in range(2000))), "E_HTTP_FETCH"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "E_HTTP_FETCH"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "E_HTTP_FETCH"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "E_HTTP_READ"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "E_HTTP_"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "E_HTTP_READ"),
]


@pytest.mark.parametrize(("answer", "code"), UNREADABLE)
async def test_broken_http_is_a_code_and_asked_once(client: GuardedClient, answer: bytes, code: str) -> None:
    async with raw_site(answering(answer, hang_up=True)) as site:
        got = await client.get(f"http://{site.authority}/", limits=LIMITS)
        assert isinstance(got, FetchFailure), got
        assert got.code.startswith(code)
        assert got.message
        assert len(site.calls) == 1


async def test_noise_without_end_ends_with_the_time_for_the_head(client: GuardedClient) -> None:
    async def answer(call: Call) -> None:
        while True:
            await call.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await asyncio.sleep(0.01)

    async with raw_site(answer) as site:
        got = await client.get(f"http://{site.authority}/", limits=GetLimits(first_byte_ms=500, total_ms=30_000))
        assert isinstance(got, FetchFailure)
        assert got.code == "E_TIMEOUT"
        await site.until(lambda: site.left == 1)


async def test_dripping_body_ends_with_the_total(client: GuardedClient) -> None:
    async def answer(call: Call) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            await call.send(b"x")
            await asyncio.sleep(0.01)

    async with raw_site(answer) as site:
        got = await client.get(
            f"http://{site.authority}/", limits=GetLimits(connect_ms=60_000, first_byte_ms=60_000, total_ms=1500)
        )
        assert isinstance(got, FetchFailure)
        assert (got.code, "not finished within 1500 ms" in got.message) == ("E_TIMEOUT", True)
        await site.until(lambda: site.left == 1)


async def test_connection_is_used_again(client: GuardedClient) -> None:
    async with raw_site(answering(ok())) as site:
        for _ in range(3):
            got = await client.get(f"http://{site.authority}/", limits=LIMITS)
            assert isinstance(got, Fetched), got
            assert got.address == "127.0.0.1"
        assert (len(site.calls), site.connections) == (3, 1)


async def test_connection_that_the_host_closed_meanwhile_is_replaced(client: GuardedClient) -> None:
    async def answer(call: Call) -> None:
        if call.connection == 1 and len(site.calls) == 2:
            call.hang_up()  # as a host does whose patience ends while the next request is on its way
        else:
            await call.send(ok())

    async with raw_site(answer) as site:
        for _ in range(2):
            assert isinstance(await client.get(f"http://{site.authority}/", limits=LIMITS), Fetched)
        assert (len(site.calls), site.connections) == (3, 2)


async def test_host_that_hangs_up_on_every_request_is_asked_once_each(client: GuardedClient) -> None:
    async def answer(call: Call) -> None:
        call.hang_up()

    async with raw_site(answer) as site:
        got = await client.get(f"http://{site.authority}/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert (got.code, len(site.calls)) == ("E_HTTP_FETCH", 1)


@pytest.mark.parametrize("begun", [False, True])
async def test_cancelling_hangs_up(client: GuardedClient, begun: bool) -> None:
    async def answer(call: Call) -> None:
        if begun:
            await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun")

    async with raw_site(answer) as site:
        task = asyncio.create_task(client.get(f"http://{site.authority}/", limits=LIMITS))
        await site.until(lambda: len(site.calls) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await site.until(lambda: site.left == 1)


async def test_client_that_ends_hangs_up() -> None:
    async with raw_site(answering(ok())) as site:
        async with GuardedClient(Egress(egress_rules("127.0.0.0/8"))) as client:
            await client.get(f"http://{site.authority}/", limits=LIMITS)
            assert site.left == 0
        await site.until(lambda: site.left == 1)


async def test_nobody_listening_is_a_value(client: GuardedClient) -> None:
    async with raw_site(answering(ok())) as site:
        port = site.port
    got = await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS)
    assert isinstance(got, FetchFailure)
    assert got.code == "E_HTTP_FETCH"


async def test_works_on_uvloop() -> None:
    import uvloop

    async def run() -> None:
        async with (
            raw_site(answering(ok())) as site,
            GuardedClient(Egress(egress_rules("127.0.0.0/8"))) as client,
        ):
            for _ in range(2):
                assert isinstance(await client.get(f"http://{site.authority}/", limits=LIMITS), Fetched)
            assert site.connections == 1

    def in_thread() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run())

    await asyncio.to_thread(in_thread)
