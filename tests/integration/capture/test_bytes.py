"""Bytes are kept as they were: headers, bodies in any charset, what was packed, what answers of many kinds are."""

import gzip
import hashlib
import io

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response, html, text

pytestmark = pytest.mark.browser


def test_exact_header_block_survives(server: CaptureServer, site: FixtureSite) -> None:
    def answer(_: Request) -> Response:
        return html("<!doctype html><title>h</title>").with_headers(
            ("X-OdD", "a  b"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")
        )

    site.set("/headers", answer)
    archive = Archive.of(server.capture(site.url(0, "/headers")))
    warc = io.BytesIO(archive.members["archive/data.warc.gz"])
    assert b"X-OdD: a  b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n" in gzip.decompress(warc.getvalue())
    record = archive.responses("/headers")[0]
    assert record.headers["WARC-IP-Address"] == "127.0.0.2"
    assert record.headers["WARC-Protocol"] == "http/1.1"


@pytest.mark.parametrize("charset", ["shift_jis", "euc_jp", "iso2022_jp", "utf-16"])
def test_body_keeps_its_bytes_in_any_charset(server: CaptureServer, site: FixtureSite, charset: str) -> None:
    path = f"/zoo/charset/{charset}"
    archive = Archive.of(server.capture(site.url(0, path)))
    assert "表示の能力を試す。" in archive.responses(path)[0].body.decode(charset)
    assert "表示の能力を試す。" in archive.pages[0]["text"]


def test_packed_body_is_stored_decoded_and_its_header_renamed(server: CaptureServer, site: FixtureSite) -> None:
    record = Archive.of(server.capture(site.url(0, "/gzip"))).responses("/gzip")[0]
    assert record.http["x-archive-orig-content-encoding"] == "gzip"
    assert "content-encoding" not in record.http
    assert record.http["content-length"] == str(len(record.body))
    assert record.body.startswith(b"<!doctype html><title>Packed</title>")


def test_client_redirect_is_followed_to_its_end(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/zoo/redirect/location"))
    assert report["finalUrl"] == site.url(0, "/zoo/landed")
    archive = Archive.of(report)
    assert archive.responses("/zoo/redirect/location")
    assert archive.responses("/zoo/landed")


def test_redirect_keeps_every_hop(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/redirect/chain?n=2&code=307"), "wacz", "links")
    assert report["finalUrl"].endswith("/redirect/chain?n=0&code=307")
    assert report["httpStatusCode"] == 200
    archive = Archive.of(report)
    assert [archive.responses(f"/redirect/chain?n={n}&code=307")[0].status for n in (2, 1, 0)] == ["307", "307", "200"]


def test_bodies_without_content_are_recorded(server: CaptureServer, site: FixtureSite) -> None:
    site.set(
        "/bodiless",
        html(
            "<!doctype html><title>x</title><script>fetch('/status/204'); fetch('/zoo/landed', {method: 'HEAD'});"
            "fetch('/status/404');</script>"
        ),
    )
    archive = Archive.of(server.capture(site.url(0, "/bodiless")))
    assert archive.responses("/status/204")[0].status == "204"
    assert archive.responses("/zoo/landed")[0].body == b""
    assert archive.responses("/status/404")[0].body.startswith(b"<!doctype html><title>404")


def test_preflight_is_recorded_but_does_not_hide_its_answer(server: CaptureServer, site: FixtureSite) -> None:
    allow = (("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Headers", "*"))
    site.set("/cors", text("allowed", headers=allow))
    asks = f"fetch('{site.url(1, '/cors')}', {{headers: {{'x-a': '1'}}}}).then(r => r.text())"
    site.set("/asks", html(f"<!doctype html><script>{asks}</script>"))
    report = server.capture(site.url(0, "/asks"))
    archive = Archive.of(report)
    assert report["completeness"]["complete"] is True
    assert {record.body for record in archive.responses("/cors")} == {b"", b"allowed"}
    index = [line for line in archive.members["indexes/index.cdx"].decode().splitlines() if "/cors" in line]
    assert len(index) == 1
    assert f'"digest": "sha256:{hashlib.sha256(b"allowed").hexdigest()}"' in index[0]


def test_event_stream_holds_no_page(server: CaptureServer, site: FixtureSite) -> None:
    stream = Response(
        body=b"data: hi\n\n" + b" " * 1000, length=100_000, content_type="text/event-stream", stall_after_bytes=10
    )
    site.set("/stream", stream)
    site.set(
        "/listens",
        html("<!doctype html><script>new EventSource('/stream').onmessage = e => { document.title = e.data }</script>"),
    )
    report = server.capture(site.url(0, "/listens"))
    assert report["settle"]["outcome"] == "quiet"
    assert report["completeness"]["truncatedUrls"] == [site.url(0, "/stream")]
    archive = Archive.of(report)
    assert archive.pages[0]["title"] == "hi"
    assert archive.responses("/stream")[0].headers["WARC-Truncated"] == "time"


def test_service_worker_is_recorded_and_stays_out_of_the_way(server: CaptureServer, site: FixtureSite) -> None:
    worker = (
        b"self.addEventListener('install', e => e.waitUntil(caches.open('a').then(c => c.add('/echo?installed'))));"
        b"self.addEventListener('fetch', e => e.respondWith(new Response('from the worker')))"
    )
    site.set("/sw.js", Response(body=worker, content_type="text/javascript"))
    page = (
        "<!doctype html><script>navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)"
        ".then(() => fetch('/echo?after')).then(r => r.text()).then(t => { document.title = t })</script>"
    )
    site.set("/with-worker", html(page))
    archive = Archive.of(server.capture(site.url(0, "/with-worker")))
    assert archive.pages[0]["title"] == "GET"
    for path in ("/sw.js", "/echo?installed", "/echo?after"):
        assert [record.status for record in archive.responses(path)] == ["200"]
        assert archive.responses(path)[0].body
