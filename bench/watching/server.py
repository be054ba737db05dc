"""200 hosts on loopback addresses, one port: pages of about 20 kB of which one in ten changes from round to round.

    python -m bench.watching.server READY_FILE

Writes its port into READY_FILE; `GET /round/3` begins the third round. One process and no framework, so that it is
never what is measured.
"""

import asyncio
import sys
import zlib
from functools import lru_cache
from pathlib import Path

HOSTS = 200
PAGES_PER_HOST = 2
CHANGES_ONE_IN = 10
ROWS = 60
WORDS = (
    *("harbour", "ferry", "lantern", "orchard", "meadow", "granite", "copper", "window", "letter", "engine"),
    *("velvet", "summer", "cellar", "bridge", "market", "silver", "barley", "kettle", "thunder", "pencil"),
)


def address(host: int) -> str:
    """127.1.0.2 and on."""
    return f"127.1.{host // 250}.{host % 250 + 2}"


def urls(port: int) -> list[str]:
    """Every page, host after host in turns, as a polite crawler meets them."""
    return [f"http://{address(host)}:{port}/page/{page}" for page in range(PAGES_PER_HOST) for host in range(HOSTS)]


def words(seed: int, count: int) -> str:
    return " ".join(WORDS[(seed * 31 + at * 17 + (seed >> 3) * at) % len(WORDS)] for at in range(count))


def edition_of(name: str, round_: int) -> int:
    """Of a page in that round; 0 as long as it has not changed."""
    seed = zlib.crc32(name.encode()) % CHANGES_ONE_IN
    return (round_ + CHANGES_ONE_IN - 1 - seed) // CHANGES_ONE_IN


@lru_cache(maxsize=HOSTS * PAGES_PER_HOST)
def frame(name: str) -> tuple[bytes, bytes]:
    """The page before and behind its news. Made once: what the server costs is no part of the comparison."""
    seed = zlib.crc32(name.encode())
    rows = "".join(
        f'<article class="card card--wide" data-id="{row}"><h3>'
        f'<a href="/page/{row}?ref=list">{words(seed + row, 5)}</a></h3>'
        f'<p class="summary">{words(seed + row * 7, 18)} <em>{words(row, 2)}</em> &amp; {words(seed, 3)}.</p>'
        f'<div class="facts"><span class="price">{(seed + row) % 90 + 9}.50</span></div></article>\n'
        for row in range(ROWS)
    )
    sections = "".join(f"<li><a href=/section/{one}>{words(one, 1)}</a>" for one in range(12))
    head = (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{words(seed, 4)}</title>"
        f"<style>body {{ margin: 0 }}</style><script>var page = {seed};</script></head>"
        f"<body><nav><ul>{sections}</ul></nav><main>"
    )
    return head.encode(), f"{rows}</main><footer>{words(seed, 9)}</footer></body></html>".encode()


def page(name: str, round_: int) -> bytes:
    """The page as it is in that round."""
    before, behind = frame(name)
    edition = edition_of(name, round_)
    news = f"<p>News of edition {edition}: {words(edition * 131 + zlib.crc32(name.encode()), 6)}</p>"
    return b"".join((before, news.encode(), behind))


class Site(asyncio.Protocol):
    """HTTP/1.1 with keep-alive; nobody posts anything."""

    round = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.pending = b""

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (end := self.pending.find(b"\r\n\r\n")) >= 0:
            head, self.pending = self.pending[:end], self.pending[end + 4 :]
            self.transport.write(self.answer(head.decode("latin-1")))  # type: ignore[attr-defined]

    def answer(self, head: str) -> bytes:
        line, *fields = head.split("\r\n")
        path = line.split(" ")[1]
        if path == "/robots.txt":
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if path.startswith("/round/"):
            Site.round = int(path.rpartition("/")[2])
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        host = next(field.partition(":")[2].strip() for field in fields if field.lower().startswith("host:"))
        close = any(field.lower() == "connection: close" for field in fields)
        body = page(f"{host}{path}", Site.round)
        end = b"Connection: close\r\n" if close else b""
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n%bContent-Length: %d\r\n\r\n%b" % (
            end,
            len(body),
            body,
        )
        if close:
            asyncio.get_running_loop().call_soon(self.transport.close)
        return answer


async def main(ready: Path) -> None:
    server = await asyncio.get_running_loop().create_server(Site, "0.0.0.0", 0, backlog=1024)
    ready.with_suffix(".new").write_text(str(server.sockets[0].getsockname()[1]))
    ready.with_suffix(".new").rename(ready)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
