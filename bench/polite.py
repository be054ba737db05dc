"""What the guarded client costs over bare aiohttp, and what a bomb does to it.

CPU: 2,000 small fetches at concurrency 64 from a server in another process, user and system time of this process, the
guarded client and a bare `aiohttp.ClientSession` in turns; medians and their ratio. On the loop of asyncio, and on
uvloop.
Memory: how much the process grows under a body of 200 MB that comes as 200 kB of gzip, and under one of 200 MB that
comes as it is, both beyond the client's limit; and that a body within the limit costs its size.
"""

import asyncio
import gzip
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import psutil
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules

MOST = 1.3
MOST_GROWTH_BYTES = 8 * 2**20
FETCHES = 2000
CONCURRENCY = 64
ROUNDS = 7
BODY = b"<!doctype html><title>small</title>" + b"<p>A small page, as most are.</p>" * 60
BOMB_BYTES = 200 * 10**6
LIMITS = GetLimits(max_raw_bytes=4 * 2**20, max_decoded_bytes=4 * 2**20)


def main() -> int:
    """0 where everything is within its limit."""
    with subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            verdicts = [
                asyncio.Runner(loop_factory=factory).run(cpu_is_low(name, port))
                for name, factory in (("asyncio", asyncio.new_event_loop), ("uvloop", uvloop.new_event_loop))
            ]
            verdicts += asyncio.run(memory_is_flat(port))
        finally:
            server.terminate()
    return 0 if all(verdicts) else 1


async def cpu_is_low(loop: str, port: int) -> bool:
    """The ratio on this loop."""
    url = f"http://127.0.0.1:{port}/small"
    bare_s, guarded_s = [], []
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY)) as bare,
        GuardedClient(Egress(egress_rules(f"127.0.0.1:{port}")), max_connections=CONCURRENCY) as guarded,
    ):

        async def barely() -> None:
            async with bare.get(url) as response:
                assert len(await response.read()) == len(BODY)

        async def guardedly() -> None:
            got = await guarded.get(url)
            assert isinstance(got, Fetched), got
            assert len(got.body) == len(BODY)

        for number in range(ROUNDS + 1):
            spent = await fetches_s(barely), await fetches_s(guardedly)
            if number:  # the first warms up
                bare_s.append(spent[0])
                guarded_s.append(spent[1])
    ratio = statistics.median(guarded_s) / statistics.median(bare_s)
    print(
        f"{FETCHES} fetches on {loop}, CPU: bare aiohttp {statistics.median(bare_s):.2f} s, "
        f"guarded {statistics.median(guarded_s):.2f} s, ratio {ratio:.2f}, at most {MOST}"
    )
    return ratio <= MOST


async def fetches_s(fetch: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of this process."""
    numbers = iter(range(FETCHES))

    async def worker() -> None:
        for _ in numbers:
            await fetch()

    before_s = cpu_s()
    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return cpu_s() - before_s


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def memory_is_flat(port: int) -> list[bool]:
    """One verdict for each bomb."""
    verdicts = []
    async with GuardedClient(Egress(egress_rules(f"127.0.0.1:{port}"))) as client:
        await client.get(f"http://127.0.0.1:{port}/small")
        for path, what in (("/bomb", "200 MB as 200 kB of gzip"), ("/raw", "200 MB as they are")):
            growth_bytes, got = await growth(client, f"http://127.0.0.1:{port}{path}")
            assert isinstance(got, FetchFailure), got
            assert got.code == "E_HTTP_BODY_TOO_LARGE", got
            most = LIMITS.max_decoded_bytes + MOST_GROWTH_BYTES
            print(
                f"{what}, limit {LIMITS.max_decoded_bytes / 1e6:.0f} MB: grew by {growth_bytes / 1e6:.1f} MB, "
                f"at most {most / 1e6:.0f} MB"
            )
            verdicts.append(growth_bytes <= most)
    return verdicts


async def growth(client: GuardedClient, url: str) -> tuple[int, Fetched | FetchFailure]:
    """The most that the process grew meanwhile, looked at as often as others have their turn."""
    process = psutil.Process()
    before = most = process.memory_info().rss
    fetching = asyncio.create_task(client.get(url, limits=LIMITS))
    while not fetching.done():
        await asyncio.sleep(0)
        most = max(most, process.memory_info().rss)
    return most - before, fetching.result()


async def serve() -> None:
    """The other process: a bare HTTP server, so that it keeps up with two clients."""
    bomb = gzip.compress(bytes(BOMB_BYTES), mtime=0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1]
                if path == b"/small":
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(BODY)
                    )
                    writer.write(BODY)
                elif path == b"/bomb":
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb))
                    writer.write(bomb)
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    for _ in range(BOMB_BYTES // 2**16):
                        writer.write(b"10000\r\n" + bytes(2**16) + b"\r\n")
                        await writer.drain()
                    writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # ends with the bench
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        uvloop.run(serve())
    sys.exit(main())
