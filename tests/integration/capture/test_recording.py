"""Each way in which a page fetches something: its record is in the WARC with the right body, and every tool agrees.

`warcio` reads the records and checks their digests, `cdxj-indexer` finds the same index, `wacz validate` nothing wrong.
"""

import hashlib
from dataclasses import dataclass, field, replace

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer
from tests.integration.capture.tools import assert_every_tool_takes
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html, redirect, text

pytestmark = pytest.mark.browser

Answer = tuple[str, bytes]
"""Status and body."""
CSV = b"tree,arguments\nOld Ned,3\n"
LONG = 5_000_000


@dataclass(frozen=True)
class Case:
    """A page, what else its site answers (`OTHER` in a body: another host), and the records that there must be."""

    page: str
    records: dict[str, list[Answer]]
    site: dict[str, Response] = field(default_factory=dict)
    sent: dict[str, bytes] = field(default_factory=dict)
    """Bodies of requests."""
    start: str = "/case"
    unindexed: tuple[str, ...] = ()
    """Whose records have no line in our index: a HEAD under the same key would hide the GET's answer."""


def script(code: str) -> str:
    return f"<!doctype html><title>case</title><script>{code}</script>"


def javascript(code: str) -> Response:
    return Response(body=code.encode(), content_type="text/javascript")


CASES = {
    "subresources": Case(
        "<!doctype html><link rel=stylesheet href=/own.css><img src=/pictures/orchard-1-640.png>",
        {"/own.css": [("200", b"p { color: #124 }")]},
        {"/own.css": Response(body=b"p { color: #124 }", content_type="text/css")},
    ),
    "frame of another site": Case(
        "<!doctype html><iframe src=OTHER/framed></iframe>",
        {"/framed": [("200", script("fetch('/from-frame')").encode())], "/from-frame": [("200", b"frame")]},
        {"/framed": html(script("fetch('/from-frame')")), "/from-frame": text("frame")},
    ),
    "frame in a frame of another site": Case(
        "<!doctype html><iframe src=OTHER/outer></iframe>",
        {"/from-inner": [("200", b"inner")]},
        {
            "/outer": html("<!doctype html><iframe src=OTHER/inner></iframe>"),
            "/inner": html(script("fetch('/from-inner')")),
            "/from-inner": text("inner"),
        },
    ),
    "worker": Case(
        script("new Worker('/worker.js')"),
        {"/worker.js": [("200", b"fetch('/from-worker')")], "/from-worker": [("200", b"worker")]},
        {"/worker.js": javascript("fetch('/from-worker')"), "/from-worker": text("worker")},
    ),
    "worker of a frame of another site": Case(
        "<!doctype html><iframe src=OTHER/has-worker></iframe>",
        {"/inner-worker.js": [("200", b"fetch('/from-far')")], "/from-far": [("200", b"far")]},
        {
            "/has-worker": html(script("new Worker('/inner-worker.js')")),
            "/inner-worker.js": javascript("fetch('/from-far')"),
            "/from-far": text("far"),
        },
    ),
    "shared worker": Case(
        script("new SharedWorker('/shared.js')"),
        {"/shared.js": [("200", b"fetch('/from-shared')")], "/from-shared": [("200", b"shared")]},
        {"/shared.js": javascript("fetch('/from-shared')"), "/from-shared": text("shared")},
    ),
    "service worker": Case(
        script("navigator.serviceWorker.register('/sw-case.js')"),
        {
            "/sw-case.js": [("200", b"oninstall = e => e.waitUntil(fetch('/from-service'))")],
            "/from-service": [("200", b"service")],
        },
        {
            "/sw-case.js": javascript("oninstall = e => e.waitUntil(fetch('/from-service'))"),
            "/from-service": text("service"),
        },
    ),
    "prefetch and preload": Case(
        "<!doctype html><link rel=prefetch href='/echo?prefetch'>"
        "<link rel=preload as=fetch crossorigin href='/echo?preload'>",
        {"/echo?prefetch": [("200", b"GET ")], "/echo?preload": [("200", b"GET ")]},
    ),
    "beacon": Case(
        script("navigator.sendBeacon('/echo?beacon', 'b')"),
        {"/echo?beacon": [("200", b"POST b")]},
        sent={"/echo?beacon": b"b"},
    ),
    "redirect of a part, hop by hop": Case(
        script("fetch('/first').then(r => r.text())"),
        {"/first": [("302", b"")], "/second": [("307", b"")], "/third": [("200", b"arrived")]},
        {"/first": redirect("/second"), "/second": redirect("/third", status=307), "/third": text("arrived")},
    ),
    "redirect of the page, hop by hop": Case(
        "",
        {
            "/redirect/chain?n=2&code=302": [("302", b"")],
            "/redirect/chain?n=1&code=302": [("302", b"")],
        },
        start="/redirect/chain?n=2&code=302",
    ),
    "posted text": Case(
        script("fetch('/echo?posted', {method: 'POST', body: JSON.stringify({tide: 'ebb'})}).then(r => r.text())"),
        {"/echo?posted": [("200", b'POST {"tide":"ebb"}')]},
        sent={"/echo?posted": b'{"tide":"ebb"}'},
    ),
    "posted bytes": Case(
        script("fetch('/takes', {method: 'PUT', body: new Uint8Array([0, 255, 128, 10])}).then(r => r.text())"),
        {"/takes": [("200", b"taken")]},
        {"/takes": text("taken")},
        sent={"/takes": b"\x00\xff\x80\n"},
    ),
    "posted bytes that are many": Case(
        script(f"fetch('/takes', {{method: 'POST', body: 'x'.repeat({LONG})}}).then(r => r.text())"),
        {"/takes": [("200", b"taken")]},
        {"/takes": text("taken")},
        sent={"/takes": b"x" * LONG},
    ),
    "answers without a body": Case(
        script("fetch('/status/204'); fetch('/zoo/landed', {method: 'HEAD'})"),
        {"/status/204": [("204", b"")], "/zoo/landed": [("200", b"")]},
        unindexed=("/zoo/landed",),
    ),
    "answer that nothing has changed": Case(
        script(
            "fetch('/same').then(r => r.text()).then(() => fetch('/same', {cache: 'no-cache'})).then(r => r.text())"
        ),
        {"/same": [("200", b"as it was"), ("304", b"")]},
    ),
    "download by navigation": Case("", {"/download/orchard.csv": [("200", CSV)]}, start="/download/orchard.csv"),
    "download by a link": Case(
        "<!doctype html><a href=/download/orchard.csv>x</a><script>onload = () => document.links[0].click()</script>",
        {"/download/orchard.csv": [("200", CSV)]},
    ),
    "download by a[download]": Case(
        "<!doctype html><a href=/kept.txt download>x</a><script>onload = () => document.links[0].click()</script>",
        {"/kept.txt": [("200", b"kept")]},
        {"/kept.txt": text("kept")},
    ),
    "download in a frame": Case(
        "<!doctype html><title>x</title><iframe src=/download/orchard.csv></iframe>",
        {"/download/orchard.csv": [("200", CSV)]},
    ),
}


def same(asked_etag: str | None) -> Response:
    tag = ("ETag", '"one"')
    return Response(status=304, headers=(tag,)) if asked_etag else text("as it was", headers=(tag,))


@pytest.mark.parametrize("name", CASES)
def test_what_a_page_fetches_is_recorded_and_every_tool_agrees(
    server: CaptureServer, site: FixtureSite, name: str
) -> None:
    assert_recorded(CASES[name], server, site)


def assert_recorded(case: Case, server: CaptureServer, site: FixtureSite) -> None:
    """Captures the case's page: every record is there, whole, with its request, and every tool takes the archive."""
    page = case.page.replace("OTHER", site.origin(1)).encode()
    if case.start == "/case":
        site.set("/case", Response(body=page))
    site.set("/same", lambda asked: same(asked.headers.get("if-none-match")))
    for path, answer in case.site.items():
        body = answer.body.replace(b"OTHER", site.origin(2).encode()) if isinstance(answer.body, bytes) else answer.body
        site.set(path, replace(answer, body=body))
    report = server.capture(site.url(0, case.start))
    assert report["status"] == "success", report["errorDetails"]
    assert report["completeness"]["complete"] is True, report["completeness"]
    archive = Archive.of(report)
    if case.start == "/case":
        assert [record.body for record in archive.responses("/case")] == [page]
    for path, wanted in case.records.items():
        found = archive.responses(path)
        assert sorted((record.status, record.body) for record in found) == wanted, path
        for record in found:
            assert record.headers["WARC-Payload-Digest"] == f"sha256:{hashlib.sha256(record.body).hexdigest()}"
        asked = archive.requests(path)
        assert {one.headers["WARC-Concurrent-To"] for one in asked} == {
            record.headers["WARC-Record-ID"] for record in found
        }
    for path, body in case.sent.items():
        assert [one.body for one in archive.requests(path)] == [body]
    assert_every_tool_takes(archive, unindexed=case.unindexed)
