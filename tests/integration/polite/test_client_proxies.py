"""Some URLs go through a proxy: which, what it is told, and what is still refused."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient, Session
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from comity.polite.rules.proxies import proxy_rules
from comity.polite.trust import TlsTrust
from tests.fakes.chains import root
from tests.integration.polite.raw_site import Call, RawSite, answering, ok, raw_site

LIMITS = GetLimits(connect_ms=20_000, first_byte_ms=40_000, total_ms=60_000)


def proxy_to(*, says: bytes = b"") -> contextlib.AbstractAsyncContextManager[RawSite]:
    """A proxy that fetches everything by itself, or says those bytes to everyone."""
    return raw_site(answering(says or ok(b"by proxy")))


def rules(port: int, pattern: str = "*", who: str = "") -> str:
    return f'[{{"pattern": "{pattern}", "proxy": "http://{who}127.0.0.1:{port}"}}]'


@contextlib.asynccontextmanager
async def client_with(text: str, *, allow: str = "", trust: TlsTrust | None = None) -> AsyncIterator[GuardedClient]:
    async with GuardedClient(Egress(egress_rules(allow)), proxies=proxy_rules(text), trust=trust) as client:
        yield client


async def test_matching_urls_go_through_the_proxy_and_others_do_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with raw_site(answering(ok())) as site, proxy_to() as proxy:
        text = rules(proxy.port, "http://*.shop.example/*", "keeper:s3cret@")
        async with client_with(text, allow=site.authority) as client:
            for _ in range(2):
                by_proxy = await client.get(
                    "http://www.shop.example/a?b", limits=LIMITS, session=Session({"Authorization": "Bearer x"})
                )
                assert isinstance(by_proxy, Fetched), by_proxy
                assert (by_proxy.body, by_proxy.address) == (b"by proxy", None)
            direct = await client.get(f"http://{site.authority}/", limits=LIMITS)
            assert isinstance(direct, Fetched), direct
            assert direct.address == "127.0.0.1"
    first = proxy.calls[0]
    assert (first.target, first.header("host")) == ("http://www.shop.example/a?b", "www.shop.example")
    assert first.header("proxy-authorization") == "Basic a2VlcGVyOnMzY3JldA=="
    assert first.header("authorization") == "Bearer x"
    assert (len(proxy.calls), proxy.connections) == (2, 1)
    assert site.calls[0].header("proxy-authorization") is None
    assert "only the names are checked" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://[::1]/", "http://localhost/", "http://printer/", "http://a.internal/",
     "http://metadata.google.internal/", "http://169.254.169.254/", "http://nas.local./", "https://10.0.0.1/"],
)  # fmt: skip
async def test_what_is_not_public_by_its_name_is_refused(url: str) -> None:
    async with proxy_to() as proxy, client_with(rules(proxy.port)) as client:
        got = await client.get(url, limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert (got.code, proxy.connections) == ("E_URL_POLICY", 0)


async def test_name_that_is_allowed_goes_through() -> None:
    async with proxy_to() as proxy, client_with(rules(proxy.port), allow="a.internal:80") as client:
        assert isinstance(await client.get("http://a.internal/", limits=LIMITS), Fetched)


async def test_redirect_of_a_proxied_answer_is_judged_too() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"
    async with proxy_to(says=moved) as proxy, client_with(rules(proxy.port)) as client:
        got = await client.get("http://www.shop.example/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert (got.code, len(proxy.calls)) == ("E_URL_POLICY", 1)


async def test_https_goes_through_a_tunnel_with_tls_to_the_host_itself(tmp_path: Path) -> None:
    top = root()

    async def answer(call: Call) -> None:
        await call.send(ok(b"through the tunnel"))

    async with raw_site(answer, tls=top.server(tmp_path, names=("www.shop.example",))) as site:
        async with tunnel_to(site.port) as (port, heads):
            trust = TlsTrust(roots_pem=top.pem)
            async with client_with(rules(port, who="u:p@"), trust=trust) as client:
                got = await client.get("https://www.shop.example/x", limits=LIMITS)
                assert isinstance(got, Fetched), got
                assert got.body == b"through the tunnel"
                wrong = await client.get("https://other.shop.example/", limits=LIMITS)
                assert isinstance(wrong, FetchFailure)
                assert "CERTIFICATE_VERIFY_FAILED" in wrong.message
        assert heads[0].startswith(b"CONNECT www.shop.example:443 HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic dTpw\r\n" in heads[0]
        assert [(call.target, call.header("proxy-authorization")) for call in site.calls] == [("/x", None)]


@contextlib.asynccontextmanager
async def tunnel_to(port: int) -> AsyncIterator[tuple[int, list[bytes]]]:
    heads: list[bytes] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n")
        await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))

    async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while block := await source.read(65536):
                to.write(block)
                await to.drain()
        to.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [(b"HTTP/1.1 403 Forbidden\r\n\r\n", "403"), (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407"),
     (b"garbage\r\n\r\n", "garbage"), (b"HTTP/1.1 200 OK\r\n\r\nearly", "speaks before")],
)  # fmt: skip
async def test_proxy_that_gives_no_tunnel_is_a_value(answer: bytes, says: str) -> None:
    async with proxy_to(says=answer) as proxy, client_with(rules(proxy.port, who="u:hidden@")) as client:
        got = await client.get("https://www.shop.example/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert (got.code, says in got.message, "hidden" in got.message) == ("E_HTTP_FETCH", True, False)


async def test_proxy_that_wants_credentials_or_is_gone_is_a_value() -> None:
    asks = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with proxy_to(says=asks) as proxy, client_with(rules(proxy.port)) as client:
        got = await client.get("http://www.shop.example/", limits=LIMITS)
        assert isinstance(got, FetchFailure)
        assert "407" in got.message
    async with client_with(rules(proxy.port)) as client:
        gone = await client.get("http://www.shop.example/", limits=LIMITS)
        assert isinstance(gone, FetchFailure)
        assert (gone.code, f"proxy 127.0.0.1:{proxy.port}" in gone.message) == ("E_HTTP_FETCH", True)
