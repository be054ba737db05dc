"""Pages of a size that no page should have: a report with the right status, whatever the budgets say, and a server that
lives.
"""

import time
from collections.abc import AsyncIterator

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, request
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response, html
from tests.slow.conftest import assert_only_one_profile_is_left

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CAPTURE_S = 130
MANIFEST_S = 15
ALL = ("png", "webp", "html", "links", "mhtml", "wacz")
LINE_BYTES = 100 * 1000 * 1000
DEPTH = 50_000


def one_line(_: Request) -> Response:
    """A hundred megabytes without a line's end."""

    async def produce() -> AsyncIterator[bytes]:
        yield b"<!doctype html><title>line</title><p>"
        for _ in range(LINE_BYTES // 100_000):
            yield b"x" * 100_000

    return Response(body=produce)


def nested(element: str) -> Response:
    return html(f"<!doctype html><title>deep</title>{f'<{element}>' * DEPTH}bottom")


@pytest.mark.parametrize("formats", [("wacz",), ALL])
@pytest.mark.parametrize("page", ["one line", "one line as text", "div", "b", "table", "ul", "svg", "iframe srcdoc"])
def test_huge_page_has_a_report_and_the_server_lives(
    server: CaptureServer, site: FixtureSite, page: str, formats: tuple[str, ...]
) -> None:
    if page == "one line":
        site.set("/huge", one_line)
    elif page == "one line as text":
        site.set("/huge", lambda asked: Response(body=one_line(asked).body, content_type="text/plain"))
    else:
        site.set("/huge", nested(page))
    started = time.monotonic()
    answer = server.post(request(site.url(0, "/huge"), *formats, fullPage=True), timeout_s=CAPTURE_S + MANIFEST_S)
    assert time.monotonic() - started < CAPTURE_S + MANIFEST_S
    report = answer.json()["report"]
    print(page, formats, report["status"], report.get("errorDetails"), report["captureProcessingTimeMs"], "ms")
    if report["status"] == "success":
        assert set(report["artifacts"]) == set(formats)
        if page.startswith("one line"):
            assert report["completeness"]["truncatedUrls"] == [site.url(0, "/huge")]
        else:
            assert Archive.of(report).responses("/huge")[0].body.endswith(b"bottom")
    else:
        assert report["errorDetails"]["type"] in ("timeout", "internal"), report["errorDetails"]
        assert report["artifacts"] == {}
    assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"
    assert_only_one_profile_is_left(server)


@pytest.mark.parametrize("as_part", [True, False])
def test_bomb_has_a_report_and_the_server_lives(server: CaptureServer, site: FixtureSite, as_part: bool) -> None:
    """A hundred megabytes from a hundred kilobytes on the wire."""
    bomb = "/gzip/bomb?mb=100"
    site.set("/with-bomb", html(f"<!doctype html><title>b</title><script>fetch('{bomb}').then(r => r.blob())</script>"))
    path = "/with-bomb" if as_part else bomb
    wait = {"minMs": 0, "maxMs": 30_000, "quietMs": 500, "networkConcurrency": 0}
    answer = server.post(request(site.url(0, path), loadWait=wait), timeout_s=CAPTURE_S + MANIFEST_S)
    report = answer.json()["report"]
    print(path, report["status"], report.get("errorDetails"), report["captureProcessingTimeMs"], "ms")
    if as_part or report["status"] == "success":
        assert report["status"] == "success", report["errorDetails"]
        assert report["completeness"] == {"bodylessUrls": [], "truncatedUrls": [site.url(0, bomb)], "complete": False}
        (record,) = Archive.of(report).responses(bomb)
        assert record.headers["WARC-Truncated"] == "length"
    else:
        assert report["errorDetails"]["type"] in ("timeout", "http"), report["errorDetails"]
    assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"
    assert_only_one_profile_is_left(server)
