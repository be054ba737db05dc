"""TLS of the client: verification is never off, and a chain with a gap is completed from where its issuer says."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7

from comity.polite.client import Fetched, FetchFailure, GetLimits, GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import egress_rules
from comity.polite.trust import TlsTrust
from tests.fakes.chains import Issuer, root
from tests.integration.polite.raw_site import Call, RawSite, answering, ok, raw_site

LIMITS = GetLimits(connect_ms=20_000, first_byte_ms=40_000, total_ms=60_000)


@dataclass
class Shelf:
    """Where issuers' certificates can be fetched. `files` by path; a text is a redirect to it."""

    site: RawSite
    files: dict[str, bytes | str] = field(default_factory=dict)

    def url(self, path: str = "/issuer") -> str:
        return f"http://{self.site.authority}{path}"


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    kept: list[Shelf] = []

    async def answer(call: Call) -> None:
        content = kept[0].files.get(call.target)
        if isinstance(content, str):
            await call.send(f"HTTP/1.1 302 Found\r\nLocation: {content}\r\nContent-Length: 0\r\n\r\n".encode())
        elif content is None:
            await call.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        else:
            await call.send(ok(content))

    async with raw_site(answer) as site:
        kept.append(Shelf(site))
        yield kept[0]


@contextlib.asynccontextmanager
async def client_of(top: Issuer, *, allow: str = "127.0.0.0/8", **trust: object) -> AsyncIterator[GuardedClient]:
    believed = TlsTrust(roots_pem=top.pem, **trust)  # type: ignore[arg-type]
    async with GuardedClient(Egress(egress_rules(allow)), trust=believed) as client:
        yield client


def certificate_failure(got: Fetched | FetchFailure) -> str:
    assert isinstance(got, FetchFailure), got
    assert got.code == "E_HTTP_FETCH"
    assert "CERTIFICATE_VERIFY_FAILED" in got.message
    return got.message


async def test_whole_chain_is_accepted_and_an_unknown_root_is_not(tmp_path: Path) -> None:
    top = root()
    async with raw_site(answering(ok()), tls=top.server(tmp_path)) as site:
        async with client_of(top) as client:
            got = await client.get(f"https://{site.authority}/", limits=LIMITS)
            assert isinstance(got, Fetched), got
            assert (got.body, got.address) == (b"hello", "127.0.0.1")
            await client.get(f"https://{site.authority}/", limits=LIMITS)
            assert site.connections == 1
        async with client_of(root("Another root")) as client:
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
        assert len(site.calls) == 2


@pytest.mark.parametrize("form", ["der", "pem", "pkcs7", "redirected"])
async def test_missing_intermediate_is_fetched_once(tmp_path: Path, shelf: Shelf, form: str) -> None:
    top = root()
    middle = top.issuer("Middle")
    forms: dict[str, bytes | str] = {
        "der": middle.der,
        "pem": middle.pem.encode(),
        "pkcs7": pkcs7.serialize_certificates([root("Noise").certificate, middle.certificate], Encoding.DER),
        "redirected": "/moved",
    }
    shelf.files = {"/issuer": forms[form], "/moved": middle.der}
    tls = middle.server(tmp_path, issuer_url=shelf.url())
    async with raw_site(answering(ok(b"x", "Connection: close")), tls=tls) as site, client_of(top) as client:
        many = await asyncio.gather(*(client.get(f"https://{site.authority}/", limits=LIMITS) for _ in range(4)))
        again = await client.get(f"https://{site.authority}/", limits=LIMITS)
        for got in (*many, again):
            assert isinstance(got, Fetched), got
        assert [call.target for call in shelf.site.calls].count("/issuer") == 1


async def test_two_missing_intermediates_are_fetched(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    upper = top.issuer("Upper", issuer_url=shelf.url("/top"))
    lower = upper.issuer("Lower", issuer_url=shelf.url("/upper"))
    shelf.files = {"/lower": lower.der, "/upper": upper.der, "/top": top.der}
    tls = lower.server(tmp_path, issuer_url=shelf.url("/lower"))
    async with raw_site(answering(ok()), tls=tls) as site, client_of(top) as client:
        got = await client.get(f"https://{site.authority}/", limits=LIMITS)
        assert isinstance(got, Fetched), got
    assert [call.target for call in shelf.site.calls] == ["/lower", "/upper"]


async def test_completing_can_be_switched_off_and_a_bundle_does_it_without_asking(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    middle = top.issuer("Middle")
    shelf.files = {"/issuer": middle.der}
    async with raw_site(answering(ok()), tls=middle.server(tmp_path, issuer_url=shelf.url())) as site:
        async with client_of(top, complete=False) as client:
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
        async with client_of(top, complete=False, intermediates_pem=middle.pem) as client:
            assert isinstance(await client.get(f"https://{site.authority}/", limits=LIMITS), Fetched)
    assert not shelf.site.calls


async def test_completed_chain_does_not_excuse_a_wrong_name_or_an_end(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    middle = top.issuer("Middle")
    shelf.files = {"/issuer": middle.der}
    for options, says in (({"names": ("other.example",)}, "mismatch"), ({"ended": True}, "expired")):
        tls = middle.server(tmp_path, issuer_url=shelf.url(), **options)
        async with raw_site(answering(ok()), tls=tls) as site, client_of(top) as client:
            assert says in certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
            assert not site.calls


async def test_forged_issuers_are_not_believed(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    middle = top.issuer("Middle")
    forgeries: dict[str, bytes | str] = {
        "another CA's key under the name": root("Elsewhere").issuer("Middle").der,
        "a root under the name": root("Middle").der,
        "no CA": top.issuer("Middle", ca=False).der,
        "over": top.issuer("Middle", ended=True).der,
        "nothing": b"",
        "noise": b"\x30\x82" + b"\xff" * 200,
        "too long": middle.der + bytes(100_000),
        "https": "https://127.0.0.1:1/issuer",
    }
    for what, content in forgeries.items():
        shelf.files = {"/issuer": content}
        async with (
            raw_site(answering(ok()), tls=middle.server(tmp_path, issuer_url=shelf.url())) as site,
            client_of(top) as client,
        ):
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
            assert not site.calls, what
    assert len(shelf.site.calls) == len(forgeries)


async def test_whole_hierarchy_of_a_strangers_root_is_not_believed(tmp_path: Path, shelf: Shelf) -> None:
    """The intermediate did sign the server's certificate; only no root of ours signed the intermediate."""
    stranger = root("Stranger")
    middle = stranger.issuer("Middle", issuer_url=shelf.url("/root"))
    shelf.files = {"/issuer": middle.der, "/root": stranger.der}
    tls = middle.server(tmp_path, issuer_url=shelf.url())
    async with raw_site(answering(ok()), tls=tls) as site, client_of(root()) as client:
        for _ in range(2):
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
        assert not site.calls


async def test_issuer_is_fetched_through_the_same_guard(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    middle = top.issuer("Middle")
    shelf.files = {"/issuer": middle.der}
    async with raw_site(answering(ok()), tls=middle.server(tmp_path, issuer_url=shelf.url())) as site:
        async with client_of(top, allow=site.authority) as client:
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
        assert shelf.site.connections == 0
        async with client_of(top, allow=f"{site.authority},{shelf.site.authority}") as client:
            assert isinstance(await client.get(f"https://{site.authority}/", limits=LIMITS), Fetched)


async def test_issuer_that_gives_nothing_is_not_asked_again_soon(tmp_path: Path, shelf: Shelf) -> None:
    top = root()
    tls = top.issuer("Middle").server(tmp_path, issuer_url=shelf.url())
    async with raw_site(answering(ok()), tls=tls) as site, client_of(top) as client:
        for _ in range(3):
            certificate_failure(await client.get(f"https://{site.authority}/", limits=LIMITS))
    assert len(shelf.site.calls) == 1


async def test_plain_http_behind_an_https_url_is_a_value() -> None:
    async with raw_site(answering(ok())) as site, client_of(root()) as client:
        got = await client.get(f"https://{site.authority}/", limits=GetLimits(connect_ms=2_000))
        assert isinstance(got, FetchFailure)
        assert got.code in ("E_HTTP_FETCH", "E_TIMEOUT")
