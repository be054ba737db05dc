"""What outlives a capture, what is read of the page's storage, and the trace of our own steps."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer, path_of, request, script
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

pytestmark = pytest.mark.browser


def test_shared_session_keeps_cookies_even_over_a_new_browser(store: Path, site: FixtureSite) -> None:
    url = site.url(0, "/zoo/memory")
    with CaptureServer(store, **QUICK, CAPTURE_SHARED_SESSION="true", CAPTURE_RECYCLE_CAPTURES="2") as server:
        titles, browsers = [], []
        for session in ("shared", "shared", "isolated", "shared"):
            report = server.capture(url, session=session)
            archive = Archive.of(report)
            titles.append(archive.pages[0]["title"])
            browsers.append(server.browser().pid)
            assert archive.responses("/style.css")[0].body, "what the browser had kept is in every archive"
            assert archive.package["comity"]["settings"]["session"] == session
    assert titles == ["First visit", "Welcome back", "First visit", "Welcome back"]
    assert browsers[0] != browsers[-1]


def test_shared_session_is_refused_unless_the_server_allows_it(server: CaptureServer, site: FixtureSite) -> None:
    refused = server.post(request(site.url(0, "/zoo/memory"), session="shared"))
    assert refused.status_code == 400
    assert refused.json()["fieldList"][0]["path"] == "/session"
    assert "CAPTURE_SHARED_SESSION" in refused.json()["message"]


def test_storage_values_are_in_the_archive_alone(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/keeps", html("<!doctype html><script>localStorage.where = 'frame'</script>"))
    page = (
        "<!doctype html><script>localStorage.setItem('a', '灯'); sessionStorage.setItem('b', '2')</script>"
        f"<iframe src='{site.url(1, '/keeps')}'></iframe>"
    )
    site.set("/storing", html(page))
    report = server.capture(site.url(0, "/storing"), "wacz", "links", storageValues=True)
    members = Archive.of(report).members
    told: dict[str, Any] = {name: json.loads(data) for name, data in members.items() if name.startswith("storage/")}
    own, other = (f"storage/http+{host.replace(':', '+')}.json" for host in site.hosts[:2])
    assert set(told) == {own, other}
    assert told[own]["origin"] == site.origin(0)
    assert told[own]["localStorage"]["values"] == {"a": "灯"}
    assert told[own]["sessionStorage"]["values"] == {"b": "2"}
    assert told[other]["localStorage"]["values"] == {"where": "frame"}
    assert "灯" not in json.dumps(report, ensure_ascii=False)
    without = Archive.of(server.capture(site.url(0, "/storing")))
    assert not [name for name in without.members if name.startswith("storage/")]


@pytest.mark.parametrize("path", ["/zoo/landed", "/status/404"])
def test_trace_tells_each_step_with_its_time(server: CaptureServer, site: FixtureSite, path: str) -> None:
    report = server.capture(site.url(0, path), "html", trace=True)
    place = path_of(report["traceLocation"])
    assert place.name.endswith(".trace.jsonl")
    lines = [json.loads(line) for line in place.read_bytes().splitlines()]
    good = report["status"] == "success"
    assert ("html" in {line["step"] for line in lines}) is good
    assert any(line["outcome"] == "failed" for line in lines) is not good
    assert sum(line["tookMs"] for line in lines if line["step"] != "capture") <= report["captureProcessingTimeMs"] + 50
    assert "traceLocation" not in server.capture(site.url(0, path), "html")


def test_service_worker_of_a_shared_session_asks_for_nothing_between_captures(store: Path, site: FixtureSite) -> None:
    source = b"setInterval(() => fetch('/echo?still-here'), 50)"
    site.set("/busy-worker.js", Response(body=source, content_type="text/javascript"))
    page = "<!doctype html><script>navigator.serviceWorker.register('/busy-worker.js')</script>"
    site.set("/busy-worker", html(page))
    with CaptureServer(store, **QUICK, CAPTURE_SHARED_SESSION="true") as server:
        wait = {"minMs": 500, "maxMs": 1000, "quietMs": 0, "networkConcurrency": 100}
        assert server.capture(site.url(0, "/busy-worker"), session="shared", loadWait=wait)["status"] == "success"
        assert site.asked_for("/echo?still-here")
        server.capture(site.url(0, "/zoo/landed"), "html")
        site.clear_log()
        server.capture(site.url(0, "/zoo/landed"), "html")
        assert not site.asked_for("/echo?still-here")


def test_all_settings_work_together(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(
        site.url(0, "/zoo/banner"),
        *("png", "webp", "html", "links", "mhtml", "wacz"),
        dismissBanners={"enabled": True},
        storageValues=True,
        trace=True,
        fullPage=True,
        devicePixelRatios=[1, 2],
        acceptLanguage="ja",
        operationDelayMs=10,
        viewport={"width": 900, "height": 700},
        behaviors=[script("scroller", "scrollTo(0, 9999)")],
        labels=["everything"],
    )
    assert report["status"] == "success"
    assert len(report["artifacts"]) == 6
    assert report["banners"]["dismissed"]
    assert report["completeness"]["complete"] is True
