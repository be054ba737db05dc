"""Bodies within and over the limits, and downloads, which show no page."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

pytestmark = pytest.mark.browser


def test_body_over_the_limit_is_cut_and_listed(server: CaptureServer, site: FixtureSite) -> None:
    large = "/large?bytes=3000000"
    site.set("/with-large", html(f"<!doctype html><script>fetch('{large}').then(r => r.blob())</script>"))
    report = server.capture(site.url(0, "/with-large"), maxResponseBytes=1_000_000)
    assert report["status"] == "success"
    assert report["completeness"]["truncatedUrls"] == [site.url(0, large)]
    assert report["completeness"]["complete"] is False
    record = Archive.of(report).responses(large)[0]
    assert record.headers["WARC-Truncated"] == "length"


def test_body_within_the_limit_is_whole(server: CaptureServer, site: FixtureSite) -> None:
    large = "/large?bytes=3000000"
    site.set("/with-large", html(f"<!doctype html><script>fetch('{large}').then(r => r.blob())</script>"))
    report = server.capture(site.url(0, "/with-large"))
    assert report["completeness"]["complete"] is True
    assert len(Archive.of(report).responses(large)[0].body) == 3_000_000


def test_fetched_bodies_are_exact_where_long_ones_are_allowed(store: Path, site: FixtureSite) -> None:
    """They are taken as streams there, from their beginning, but for a `Blob`, which none tells of."""
    sent = bytes(range(256)) * 8_000
    takings = ("text()", "blob()", "arrayBuffer()", "body.cancel()", "status")
    for taking in takings:
        site.set(f"/as-{taking}", Response(body=sent, content_type="text/plain"))
    site.set("/in-worker", Response(body=sent, content_type="application/octet-stream"))
    site.set("/worker.js", Response(body=b"fetch('/in-worker').then(r => r.text())", content_type="text/javascript"))
    reads = "".join(f"fetch('/as-{taking}').then(r => r.{taking}).catch(() => 0);" for taking in takings)
    site.set("/reads", html(f"<!doctype html><script>{reads}new Worker('/worker.js')</script>"))
    limits = {"CAPTURE_MAX_RESPONSE_BYTES": "100000000", "CAPTURE_MAX_TASK_BYTES": "300000000"}
    with CaptureServer(store, **QUICK, **limits) as roomy:
        report = roomy.capture(site.url(0, "/reads"))
    archive = Archive.of(report)
    whole = [*(f"/as-{taking}" for taking in takings if taking != "body.cancel()"), "/in-worker"]
    assert {path: archive.responses(path)[0].body == sent for path in whole} == dict.fromkeys(whole, True)
    assert sent.startswith(archive.responses("/as-body.cancel()")[0].body)


def test_endless_download_of_a_page_is_cut_at_the_task_limit(store: Path, site: FixtureSite) -> None:
    limits = {"CAPTURE_MAX_TASK_BYTES": "20000000", "CAPTURE_MAX_RESPONSE_BYTES": "5000000"}
    site.set("/greedy", html("<!doctype html><script>fetch('/large?bytes=90000000000').then(r => r.blob())</script>"))
    site.clear_log()
    with CaptureServer(store, **QUICK, **limits) as greedy:
        report = greedy.capture(site.url(0, "/greedy"))
    assert report["status"] == "success"
    assert report["completeness"]["truncatedUrls"] == [site.url(0, "/large?bytes=90000000000")]
    assert site.asked_for("/large")[0].bytes_sent < 20_000_000_000


def test_download_is_kept_whole(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/download/orchard.csv"), "wacz", "html")
    assert report["status"] == "success"
    assert set(report["artifacts"]) == {"wacz"}
    record = Archive.of(report).responses("/download/orchard.csv")[0]
    assert record.body == b"tree,arguments\nOld Ned,3\n"


def test_download_without_wacz_fails_and_says_why(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/download/orchard.csv"), "html")
    assert report["status"] == "failed"
    assert "wacz" in report["errorDetails"]["message"]


def test_clicked_link_that_turns_out_a_download_is_kept(server: CaptureServer, site: FixtureSite) -> None:
    click = "<a href=/download/orchard.csv>x</a><script>onload = () => document.links[0].click()</script>"
    site.set("/link", html(f"<!doctype html><title>x</title>{click}"))
    site.clear_log()
    report = server.capture(site.url(0, "/link"), "wacz", "html")
    assert report["status"] == "success"
    (record,) = Archive.of(report).responses("/download/orchard.csv")
    assert record.body == b"tree,arguments\nOld Ned,3\n"
    assert len(site.asked_for("/download/orchard.csv")) == 1


def test_download_may_take_longer_than_a_first_answer(store: Path, site: FixtureSite) -> None:
    async def drips() -> AsyncIterator[bytes]:
        for _ in range(12):
            await asyncio.sleep(0.5)
            yield b"x" * 1000

    headers = (("Content-Disposition", "attachment"),)
    site.set("/drips", Response(body=drips, content_type="application/octet-stream", headers=headers))
    with CaptureServer(store, **QUICK, CAPTURE_NAVIGATION_MS="5000") as impatient:
        report = impatient.capture(site.url(0, "/drips"))
    assert report["status"] == "success", report["errorDetails"]
    assert len(Archive.of(report).responses("/drips")[0].body) == 12_000
