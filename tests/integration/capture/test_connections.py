"""What is recorded of connections: HTTP/2 as seen, TLS as observed, downloads that a click began."""

import base64
import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from tests.integration.capture.archives import Archive
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer
from tests.integration.capture.tls_host import TlsHost
from tests.integration.capture.tools import assert_every_tool_takes
from tests.site.fixture import FixtureSite
from tests.site.wire import html, redirect

pytestmark = pytest.mark.browser


def test_http2_and_tls_are_recorded_as_seen(store: Path, tmp_path: Path) -> None:
    page = b"<!doctype html><title>Second</title><script src=/part.js></script>"
    answers = {"/": ("text/html", page), "/part.js": ("text/javascript", b"document.title += ' part'")}
    with TlsHost(tmp_path, answers) as host, CaptureServer(store, **QUICK, COMITY_BROWSER=str(host.browser)) as server:
        archive = Archive.of(server.capture(f"{host.url}/"))
        own = [one.public_bytes(Encoding.DER) for one in host.chain]
    assert_every_tool_takes(archive)
    record = archive.responses("/part.js")[0]
    assert record.body == answers["/part.js"][1]
    assert record.http["x-odd"] == "seen"
    assert archive.pages[0]["title"] == "Second part"
    protocols = [value for name, value in record.warc if name == "WARC-Protocol"]
    assert protocols == ["h2", "tls/1.3"]
    (seen,) = archive.package["comity"]["tlsAsObserved"]
    assert seen["origin"] == host.url
    assert (seen["protocol"], seen["issuer"], seen["subjectName"]) == ("TLS 1.3", "test authority", "test host")
    assert seen["cipher"].startswith("AES_")
    assert seen["validFrom"] < seen["observedAt"] < seen["validTo"]
    assert seen["chainSha256"][0] == hashlib.sha256(own[0]).hexdigest()
    (kept,) = [one for one in archive.records if one.kind == "metadata" and b"tls-observed-" in one.body]
    assert kept.url == f"{host.url}/"
    assert f"tls-observed-certificate: {base64.b64encode(own[0]).decode()}\r\n".encode() in kept.body


def test_bad_certificate_fails_as_connection(server: CaptureServer, tmp_path: Path) -> None:
    with TlsHost(tmp_path, {}) as host:
        report = server.capture(f"{host.url}/")
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "connection")
    assert "CERT" in report["errorDetails"]["message"]


def test_clicked_download_is_recorded_and_asked_for_once(server: CaptureServer, site: FixtureSite) -> None:
    site.clear_log()
    report = server.capture(site.url(0, "/zoo/downloads?auto"), "wacz", "html")
    assert set(report["artifacts"]) == {"wacz", "html"}
    assert report["completeness"]["complete"] is True
    (record,) = Archive.of(report).responses("/large?bytes=2000")
    assert (record.status, len(record.body)) == ("200", 2000)
    assert record.http["content-type"] == "application/octet-stream"
    assert len(site.asked_for("/large")) == 1


def test_clicked_download_keeps_limits_and_policies(server: CaptureServer, site: FixtureSite) -> None:
    click = "<script>document.links[0].click()</script>"
    site.set("/click", html(f"<!doctype html><a href='/large?bytes=2000' download>x</a>{click}"))
    url, download = site.url(0, "/click"), site.url(0, "/large?bytes=2000")
    cut = server.capture(url, maxResponseBytes=1000)
    assert cut["completeness"]["truncatedUrls"] == [download]
    assert Archive.of(cut).responses("/large?bytes=2000")[0].headers["WARC-Truncated"] == "length"
    site.clear_log()
    denied = server.capture(url, urlPolicies=[{"pattern": "*/large*", "action": "deny"}])
    assert denied["waczStats"]["totalBlocked"] == 1
    assert not site.asked_for("/large")


def test_clicked_download_over_a_redirect_keeps_every_hop(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/moved", redirect("/large?bytes=3000"))
    site.set("/clicks", html("<!doctype html><a href=/moved download>x</a><script>document.links[0].click()</script>"))
    archive = Archive.of(server.capture(site.url(0, "/clicks")))
    assert [record.status for record in archive.responses("/moved")] == ["302"]
    assert [len(record.body) for record in archive.responses("/large?bytes=3000")] == [3000]


def test_redirect_body_is_marked_as_not_kept(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/redirect/chain?n=1"))
    record = Archive.of(report).responses("/redirect/chain?n=1")[0]
    assert (record.status, record.body, record.headers["WARC-Truncated"]) == ("302", b"", "unspecified")
    assert report["completeness"]["complete"] is True
