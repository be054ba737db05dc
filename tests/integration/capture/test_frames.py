"""Frames that the browser puts into processes of their own, as it does where sites are isolated from one another."""

import asyncio
import os
import shlex
import threading
from collections.abc import Iterator

import pytest

from comity.capture.processes import find_browser
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer
from tests.integration.capture.test_recording import CASES, assert_recorded
from tests.integration.capture.test_spare import renderers
from tests.site.fixture import FixtureSite
from tests.site.wire import Request, Response, html, text

pytestmark = pytest.mark.browser

HELD_S = 30.0
APART = [name for name in CASES if "frame" in name or "worker" in name]


@pytest.fixture(scope="module")
def isolating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    """A server whose browser gives each site a process: the headless shell does not by itself, other Chromiums do."""
    folder = tmp_path_factory.mktemp("isolating")
    browser = folder / "browser"
    program = find_browser(os.environ.get("COMITY_BROWSER"))
    browser.write_text(f'#!/bin/sh\nexec {shlex.quote(program)} --site-per-process "$@"\n')
    browser.chmod(0o700)
    with CaptureServer(folder / "store", **QUICK, COMITY_BROWSER=str(browser)) as running:
        yield running


def test_frame_of_another_site_has_a_process_of_its_own(isolating: CaptureServer, site: FixtureSite) -> None:
    asked, seen = threading.Event(), threading.Event()

    async def held(_: Request) -> Response:
        asked.set()
        await asyncio.to_thread(seen.wait, HELD_S)
        return text("let go")

    site.set("/held", held)
    site.set("/holding", html("<!doctype html><script>fetch('/held').then(r => r.text())</script>"))
    site.set("/with-frame", html(f"<!doctype html><iframe src='{site.url(1, '/holding')}'></iframe>"))
    wait = {"minMs": 0, "maxMs": 60_000, "quietMs": 0, "networkConcurrency": 0}
    reports: list[str] = []
    capture = threading.Thread(
        target=lambda: reports.append(isolating.capture(site.url(0, "/with-frame"), loadWait=wait)["status"])
    )
    capture.start()
    try:
        assert asked.wait(HELD_S)
        assert len(renderers(isolating)) >= 2
    finally:
        seen.set()
        capture.join(HELD_S * 2)
    assert reports == ["success"]


@pytest.mark.parametrize("name", APART)
def test_what_a_frame_apart_fetches_is_recorded(isolating: CaptureServer, site: FixtureSite, name: str) -> None:
    assert_recorded(CASES[name], isolating, site)
