"""Bodies that are packed, broken, endless or lie about their length: read within limits, or a code."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient, Headers
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from tests.site import FixtureSite, Response, redirect, stream

SMALL = GetLimits(max_raw_bytes=100_000, max_decoded_bytes=200_000)
CUT = GetLimits(max_raw_bytes=100_000, max_decoded_bytes=200_000, truncate=True)
WORDS = b"words and words " * 100


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    async with GuardedClient(Egress(egress_rules("127.0.0.0/8"))) as guarded:
        yield guarded


def packed(body: bytes, coding: str) -> Response:
    return Response(body=body, headers=(("Content-Encoding", coding),))


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize(
    "answer",
    [
        packed(gzip.compress(WORDS), "gzip"),
        packed(gzip.compress(WORDS), "x-gzip"),
        packed(gzip.compress(WORDS), "GZIP"),
        packed(gzip.compress(WORDS[:500]) + gzip.compress(WORDS[500:]) + b"\0" * 8, "gzip"),
        packed(zlib.compress(WORDS), "deflate"),
        packed(raw_deflate(WORDS), "deflate"),
        packed(WORDS, "identity"),
        packed(WORDS, ""),
        packed(gzip.compress(WORDS), "identity, gzip"),
    ],
)
async def test_known_packing_is_undone(site: FixtureSite, client: GuardedClient, answer: Response) -> None:
    site.set("/p", answer)
    got = await client.get(site.url(0, "/p"))
    assert isinstance(got, Fetched), got
    assert got.body == WORDS
    assert got.raw_bytes == len(answer.body if isinstance(answer.body, bytes) else b"")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (packed(gzip.compress(gzip.compress(WORDS)), "gzip, gzip"), "more than once"),
        (packed(WORDS, "gzip").with_headers(("Content-Encoding", "deflate")), "more than once"),
        (packed(WORDS, "br"), "'br', which was not asked for"),
        (packed(WORDS, "zstd"), "not asked for"),
        (packed(WORDS, "gzip"), "broken gzip"),
        (packed(b"\x78\x9c" + b"\xff" * 50, "deflate"), "broken deflate"),
        (packed(gzip.compress(WORDS)[:-4], "gzip"), "ends too early"),
        (packed(zlib.compress(WORDS)[:1], "deflate"), "ends too early"),
    ],
)
async def test_other_packing_is_a_code(site: FixtureSite, client: GuardedClient, answer: Response, says: str) -> None:
    site.set("/p", answer)
    got = await client.get(site.url(0, "/p"))
    assert isinstance(got, FetchFailure)
    assert (got.code, got.status) == ("E_HTTP_READ", 200)
    assert says in got.message


@pytest.mark.parametrize("path", ["/cut?bytes=60", "/cut?bytes=60&chunked", "/length/long"])
async def test_body_that_ends_too_early_is_a_code(site: FixtureSite, client: GuardedClient, path: str) -> None:
    got = await client.get(site.url(0, path))
    assert isinstance(got, FetchFailure)
    assert got.code == "E_HTTP_READ"


@pytest.mark.parametrize(
    "answer",
    [
        packed(gzip.compress(bytes(10_000_000)), "gzip"),
        packed(zlib.compress(bytes(10_000_000)), "deflate"),
        Response(body=bytes(100_001)),
        Response(body=stream(1 << 40), length=1 << 40),
        Response(body=stream(1 << 40)),
    ],
)
async def test_too_large_a_body_is_refused_or_cut(site: FixtureSite, client: GuardedClient, answer: Response) -> None:
    site.set("/p", answer)
    refused = await client.get(site.url(0, "/p"), limits=SMALL)
    assert isinstance(refused, FetchFailure)
    assert refused.code == "E_HTTP_BODY_TOO_LARGE"
    cut = await client.get(site.url(0, "/p"), limits=CUT)
    assert isinstance(cut, Fetched), cut
    assert cut.truncated
    assert len(cut.body) in (100_000, 200_000)
    assert cut.raw_bytes < 400_000
    assert await asyncio.to_thread(site.wait_until, lambda log: all(each.finished_s is not None for each in log))
    assert sum(each.bytes_sent for each in site.log) < 20_000_000  # what the kernel took before we hung up


async def test_body_of_exactly_the_limit_is_whole(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/p", Response(body=bytes(100_000)))
    site.set("/z", packed(gzip.compress(bytes(200_000)), "gzip"))
    for path, size in (("/p", 100_000), ("/z", 200_000)):
        got = await client.get(site.url(0, path), limits=SMALL)
        assert isinstance(got, Fetched), got
        assert (len(got.body), got.truncated) == (size, False)


async def test_body_of_a_redirect_is_not_read(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", Response(status=302, body=stream(1 << 40), length=1 << 40, headers=(("Location", "/p"),)))
    site.set("/p", Response(body=b"x"))
    got = await client.get(site.url(0, "/a"), limits=SMALL)
    assert isinstance(got, Fetched), got
    assert got.body == b"x"


class Sink:
    def __init__(self, *, wants: bool = True, most: int = 1 << 40) -> None:
        self.wants, self.most = wants, most
        self.heads: list[tuple[int, str | None]] = []
        self.pieces: list[bytes] = []

    def begin(self, status: int, headers: Headers) -> bool:
        self.heads.append((status, headers.get("content-type")))
        return self.wants

    def feed(self, piece: bytes) -> bool:
        self.pieces.append(piece)
        return sum(map(len, self.pieces)) < self.most


async def test_sink_takes_the_body_in_pieces_and_may_have_enough(site: FixtureSite, client: GuardedClient) -> None:
    site.set("/a", redirect("/p"))
    site.set("/p", packed(gzip.compress(bytes(10_000_000)), "gzip"))
    whole, some, none = Sink(), Sink(most=300_000), Sink(wants=False)
    for sink, truncated in ((whole, False), (some, True), (none, True)):
        got = await client.get(site.url(0, "/a"), sink=sink)
        assert isinstance(got, Fetched), got
        assert (got.body, got.truncated, sink.heads) == (b"", truncated, [(200, "text/html; charset=utf-8")])
    assert sum(map(len, whole.pieces)) == 10_000_000
    assert max(map(len, whole.pieces)) <= 65536
    assert 300_000 <= sum(map(len, some.pieces)) < 400_000
    assert not none.pieces
