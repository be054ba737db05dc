"""The sitemap client against a real site; what the site saw is the verdict."""

import gzip
from typing import Any

import pytest

from comity.polite.client import GetLimits
from comity.polite.egress import Egress
from comity.polite.errors import UserAgentError
from comity.polite.rules.addresses import egress_rules
from comity.polite.rules.sitemaps import SitemapFetch
from comity.polite.sitemaps import fetch_sitemap
from tests.site import FixtureSite, Request, Response, redirect, text
from tests.site.wire import stream

QUICK = GetLimits(connect_ms=60_000, first_byte_ms=300, total_ms=600)
SILENT = GetLimits(connect_ms=60_000, first_byte_ms=300, total_ms=60_000)
"""One limit at a time, so that it is the one that is met, however slow the machine."""
PATIENT = GetLimits(connect_ms=60_000, first_byte_ms=60_000, total_ms=120_000)
"""A loaded machine's own site may take longer than we would wait for a stranger's."""
URLS = [f"http://a.test/{number}" for number in range(2000)]
XML = f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in URLS)}</urlset>".encode()


async def fetch(site: FixtureSite, path: str = "/sitemap.xml", allow: str = "127.0.0.0/8", **more: Any) -> SitemapFetch:
    return await fetch_sitemap(site.url(0, path), egress=Egress(egress_rules(allow)), **{"budget": PATIENT} | more)


def xml(body: bytes = XML, *headers: tuple[str, str], kind: str = "application/xml") -> Response:
    return Response(body=body, content_type=kind, headers=headers)


@pytest.mark.parametrize(
    "answer",
    [
        xml(),
        xml(gzip.compress(XML), ("Content-Encoding", "gzip")),
        xml(gzip.compress(XML), kind="application/gzip"),
        xml(gzip.compress(gzip.compress(XML)), ("Content-Encoding", "gzip"), kind="application/x-gzip"),
    ],
)
async def test_sitemap_is_read_plain_and_packed(site: FixtureSite, answer: Response) -> None:
    site.set("/sitemap.xml", answer)
    fetched = await fetch(site)
    assert (fetched.found.urls, fetched.found.problem, fetched.http_status) == (URLS, "", 200)
    [seen] = site.log
    assert seen.headers["user-agent"].startswith("comity/")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (text("gone", status=404), "HTTP 404"),
        (xml(XML[:5000]), "is not well-formed XML"),
        (xml(gzip.compress(XML)[:2000], kind="application/gzip"), "the gzip content ends too early"),
        (xml(gzip.compress(XML)[:2000], ("Content-Encoding", "gzip")), "the gzip content ends too early"),
        (xml(gzip.compress(XML)[:10] + b"\xff" * 2000, kind="application/gzip"), "broken gzip"),
        (xml(XML, ("Content-Encoding", "br")), "content-encoding 'br'"),
        (text("<html></html>"), "is no sitemap"),
        (redirect("http://127.0.0.9/sitemap.xml"), "redirected to another host"),
        (redirect("/sitemap.xml"), "more than 5 redirects"),
        (redirect("mailto:x"), ""),
        (Response(drop=True), ""),
        (Response(silent=True), "no answer within 300 ms"),
    ],
)
async def test_whatever_is_wrong_is_a_value(site: FixtureSite, answer: Response, words: str) -> None:
    site.set("/sitemap.xml", answer)
    fetched = await fetch(site, budget=SILENT if answer.silent else PATIENT)
    assert fetched.found.problem
    assert words in fetched.found.problem
    assert fetched.found.urls == URLS[: len(fetched.found.urls)]


async def test_redirect_within_the_host_is_followed(site: FixtureSite) -> None:
    site.set("/sitemap.xml", redirect("/maps/all.xml"))
    site.set("/maps/all.xml", xml())
    assert (await fetch(site)).found.urls == URLS


async def test_bomb_is_left_when_it_is_over_the_limit(site: FixtureSite) -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * (60 * 1024 * 1024))
    site.set("/sitemap.xml", xml(bomb, kind="application/gzip"))
    assert "is over 52428800 bytes" in (await fetch(site)).found.problem


async def test_endless_sitemap_ends_with_the_budget(site: FixtureSite) -> None:
    def endless(request: Request) -> Response:
        return Response(body=stream(1 << 40, block=b" " * 1024), content_type="application/xml", length=1 << 40)

    site.set("/sitemap.xml", endless)
    assert (await fetch(site, budget=QUICK)).found.problem


@pytest.mark.parametrize(("headers", "rest_ms"), [((("Retry-After", "7"),), 7000), ((), 0)])
@pytest.mark.parametrize("status", [429, 503])
async def test_host_that_wants_rest_is_heard(
    site: FixtureSite, status: int, headers: tuple[tuple[str, str], ...], rest_ms: int
) -> None:
    site.set("/sitemap.xml", text("later", status=status, headers=headers))
    assert (await fetch(site)).retry_after_ms == rest_ms


async def test_only_what_may_be_visited_is_asked(site: FixtureSite) -> None:
    fetched = await fetch(site, allow="")
    assert "127.0.0" in fetched.found.problem
    assert not site.log
    with pytest.raises(UserAgentError):
        await fetch(site, user_agent="Mozilla/5.0")
