"""Pages and addresses that are wrong in themselves: a report with the right status, and the next capture works."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.listener import Listener
from tests.integration.capture.server import CaptureServer, request
from tests.integration.capture.tls_host import TlsHost
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

pytestmark = pytest.mark.browser

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
ALL = ("png", "webp", "html", "links", "mhtml", "wacz")


@pytest.fixture(autouse=True)
def works_after(server: CaptureServer, site: FixtureSite) -> Iterator[None]:
    yield
    assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"


def test_url_that_is_no_web_address_is_refused(server: CaptureServer) -> None:
    for url in (
        "ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://crash",
        "about:blank", "view-source:http://a.example/", "blob:http://a.example/1", "filesystem:http://a.example/t",
        "ws://a.example/", "//a.example/", "a.example", "", " ", "http:", "http://", "http:///path",
        "http://a.example:99999/",
    ):  # fmt: skip
        answer = server.post(request(url))
        assert answer.status_code == 400, url
        assert [item["path"] for item in answer.json()["fieldList"]] == ["/url"], url


@pytest.mark.parametrize(
    ("path", "status", "kind", "said"),
    [
        ("/gzip/lie", "failed", "http", "ERR_CONTENT_DECODING_FAILED"),
        ("/length/long", "failed", "connection", "ERR_CONTENT_LENGTH_MISMATCH"),
        ("/cut?bytes=60", "failed", "connection", "ERR_CONTENT_LENGTH_MISMATCH"),
        ("/cut?bytes=60&chunked", "failed", "connection", "ERR_INCOMPLETE_CHUNKED_ENCODING"),
        ("/status/304", "failed", "http", "304"),
        ("/status/999", "http_error", "http", "999"),
        ("/redirect/to?url=http://a.invalid/", "failed", "connection", "ERR_NAME_NOT_RESOLVED"),
        ("/redirect/to?url=file:///etc/passwd", "failed", "http", "ERR_UNSAFE_REDIRECT"),
    ],
)
def test_page_that_does_not_come_whole_names_its_fault(
    server: CaptureServer, site: FixtureSite, path: str, status: str, kind: str, said: str
) -> None:
    report = server.capture(site.url(0, path), "wacz", "html")
    assert (report["status"], report["errorDetails"]["type"]) == (status, kind)
    assert said in report["errorDetails"]["message"]
    assert report["artifacts"] == {}


@pytest.mark.parametrize("path", ["/stall/head", "/stall/body?bytes=60"])
def test_page_that_stalls_is_a_timeout(hasty: CaptureServer, site: FixtureSite, path: str) -> None:
    report = hasty.capture(site.url(0, path), "wacz", "html")
    assert (report["status"], report["errorDetails"]["type"]) == ("timeout", "timeout")
    assert "load event" in report["errorDetails"]["message"]
    assert report["artifacts"] == {}


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b"", "connection", "ERR_EMPTY_RESPONSE"),
        (b"garbage\r\n\r\n", "connection", "ERR_INVALID_HTTP_RESPONSE"),
        (OK + b"X: " + b"y" * 400_000 + b"\r\n\r\n", "connection", "ERR_RESPONSE_HEADERS_TOO_BIG"),
        (OK + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello", "connection", "MULTIPLE_CONTENT_LENGTH"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello", "connection", "ERR_INVALID_CHUNKED_ENCODING"),
        (OK + b"Content-Encoding: br\r\n\r\nno brotli at all", "http", "ERR_CONTENT_DECODING_FAILED"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n", "http", "redirect"),
    ],
    ids=["nothing", "garbage", "endless-header", "two-lengths", "bad-chunks", "no-brotli", "bad-location"],
)
def test_answer_that_breaks_the_protocol_names_its_fault(
    server: CaptureServer, answer: bytes, kind: str, said: str
) -> None:
    with Listener("127.0.0.1", answer=answer) as host:
        report = server.capture(f"http://{host.authority}/", "wacz", "html")
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", kind)
    assert said in report["errorDetails"]["message"]


@pytest.mark.parametrize(
    "url", ["http://no-such-host.invalid/", "https://no-such-host.invalid/", "http://a..b.invalid/"]
)
def test_name_that_nobody_knows_fails_as_connection(server: CaptureServer, url: str) -> None:
    report = server.capture(url)
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "connection")
    assert "ERR_NAME_NOT_RESOLVED" in report["errorDetails"]["message"]


def test_host_without_tls_fails_as_connection(server: CaptureServer) -> None:
    with Listener("127.0.0.1") as host:
        report = server.capture(f"https://{host.authority}/")
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "connection")
    assert "ERR_" in report["errorDetails"]["message"]


def test_part_with_a_bad_certificate_is_told_as_failed(
    server: CaptureServer, site: FixtureSite, tmp_path: Path
) -> None:
    with TlsHost(tmp_path, {}) as host:
        site.set("/mixed", html(f"<!doctype html><title>m</title><img src='{host.url}/picture'>"))
        report = server.capture(site.url(0, "/mixed"))
    reasons = Archive.of(report).package["comity"]["completeness"]["reasons"]
    assert "CERT" in reasons["failed"][f"{host.url}/picture"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/empty", b""),
        ("/nul", b"<!doctype html>\0\0<title>\0</title>\xff\xfe\xed\xa0\x80" * 10),
        ("/length/short", b"<!doctype html><title>Length</title><h1>Ho"),
        ("/gzip/broken", None),
        ("/gzip/truncated", None),
        ("/redirect/nowhere", b"<!doctype html><title>Nowhere</title>"),
        ("/zoo/broken-parts", None),
    ],
)
def test_odd_page_is_kept_as_the_browser_took_it(
    server: CaptureServer, site: FixtureSite, path: str, body: bytes | None
) -> None:
    site.set("/empty", Response(body=b""))
    site.set("/nul", Response(body=b"<!doctype html>\0\0<title>\0</title>\xff\xfe\xed\xa0\x80" * 10))
    report = server.capture(site.url(0, path), *ALL, fullPage=True)
    assert report["status"] == "success", report
    assert set(report["artifacts"]) == set(ALL)
    (record,) = Archive.of(report).responses(path)
    assert body is None or record.body == body


def test_page_that_reloads_for_ever_is_read_between_two_loads(server: CaptureServer, site: FixtureSite) -> None:
    again = "setTimeout(() => location.reload(), 300)"
    site.set("/again", html(f"<!doctype html><title>again</title><h1>again</h1><script>{again}</script>"))
    report = server.capture(site.url(0, "/again"), "wacz", "html", "png")
    assert report["status"] == "success"
    assert Archive.of(report).pages[0]["title"] == "again"


def test_page_that_reloads_at_once_is_read_or_a_timeout(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/at-once", html("<!doctype html><meta http-equiv=refresh content=0><title>again</title>"))
    report = server.capture(site.url(0, "/at-once"), "wacz", "html", "png")
    assert report["status"] in ("success", "timeout"), report["errorDetails"]


def test_bytes_under_the_name_of_text_are_told_as_a_download(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/not-text", Response(body=bytes(range(32)) * 100, content_type="text/plain"))
    report = server.capture(site.url(0, "/not-text"))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "http")
    assert "Content-Type" in report["errorDetails"]["message"]


def test_page_that_never_stays_is_a_timeout(hasty: CaptureServer, site: FixtureSite) -> None:
    site.set("/onward", html("<!doctype html><script>location.replace('?' + Math.random())</script>"))
    report = hasty.capture(site.url(0, "/onward"))
    assert (report["status"], report["errorDetails"]["type"]) == ("timeout", "timeout")


def test_page_over_the_task_limit_is_told_so(store: Path, site: FixtureSite) -> None:
    limits = {"CAPTURE_MAX_TASK_BYTES": "2000000", "CAPTURE_MAX_RESPONSE_BYTES": "1000000"}
    with CaptureServer(store, **limits) as small:
        report = small.capture(site.url(0, "/large?bytes=90000000000&type=text/plain"))
        assert (report["status"], report["errorDetails"]["type"]) == ("failed", "policy")
        assert "CAPTURE_MAX_TASK_BYTES" in report["errorDetails"]["message"]
        assert small.capture(site.url(0, "/zoo/landed"))["status"] == "success"
