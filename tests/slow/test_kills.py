"""Every part of the browser killed for real, under the budgets of service: the capture ends, the next one works.

Each capture ends within `CAPTURE_S` with the fault's right name, the next one succeeds, and afterwards the server has
one whole browser again and nothing else: no process, no profile, no half of an artifact.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from tests.integration.capture.server import CaptureServer, request, until
from tests.site.fixture import FixtureSite
from tests.site.wire import html
from tests.slow.conftest import assert_only_one_profile_is_left
from tests.slow.process_tree import alive, kind_of, kinds

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CAPTURE_S = 130
MANIFEST_S = 15
NETWORK = "network.mojom.NetworkService"
HELD_OPEN = {"minMs": 8000, "maxMs": 8000, "quietMs": 0, "networkConcurrency": 0}


def kill_parts(server: CaptureServer, *parts: str) -> None:
    """SIGKILL for every process of these kinds."""
    for process in server.descendants():
        if kind_of(process) in parts:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.fixture
def recovers(server: CaptureServer, site: FixtureSite) -> Iterator[None]:
    """Whatever the test did: the next capture is whole, and only what it needs is left."""
    assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"
    assert until(lambda: kinds(server.descendants()).count("renderer") == 1, 30), "no page waits for the next capture"
    whole, before = kinds(server.descendants()), set(server.descendants())
    yield
    report = server.capture(site.url(2, "/zoo/landed"))
    assert (report["status"], report["completeness"]["complete"]) == ("success", True)
    assert until(lambda: kinds(server.descendants()) == whole, 30), (kinds(server.descendants()), whole)
    assert server.browser() in before or not [process for process in before if alive(process)]
    assert_only_one_profile_is_left(server)


def capture_while(
    server: CaptureServer, site: FixtureSite, path: str, act: Callable[[], None], **settings: Any
) -> dict[str, Any]:
    """The report of a capture during which `act` is done once, as soon as the page was asked for."""
    site.clear_log()

    def strike() -> None:
        if site.wait_until(lambda log: any(entry.path == path for entry in log), 30):
            time.sleep(0.5)
            act()

    striker = threading.Thread(target=strike)
    striker.start()
    started = time.monotonic()
    answer = server.post(request(site.url(0, path), **settings), timeout_s=CAPTURE_S + MANIFEST_S)
    striker.join()
    assert time.monotonic() - started < CAPTURE_S
    report: dict[str, Any] = answer.json()["report"]
    return report


@pytest.mark.parametrize("path", ["/zoo/landed", "/stall/silent", "/stall/body?bytes=60"])
@pytest.mark.parametrize(
    "parts",
    [("renderer",), (NETWORK,), ("browser",), ("renderer", NETWORK, "gpu-process", "zygote")],
    ids=["renderer", "network", "browser", "all-children"],
)
def test_killed_part_of_the_browser_ends_the_capture_as_internal(
    server: CaptureServer, site: FixtureSite, recovers: None, parts: tuple[str, ...], path: str
) -> None:
    report = capture_while(server, site, path, lambda: kill_parts(server, *parts), loadWait=HELD_OPEN)
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "internal"), report["errorDetails"]
    assert report["artifacts"] == {}


@pytest.mark.parametrize("part", ["gpu-process", "zygote"])
def test_killed_part_that_a_page_can_do_without_costs_nothing(
    server: CaptureServer, site: FixtureSite, recovers: None, part: str
) -> None:
    formats = dict.fromkeys(("png", "webp", "html", "links", "mhtml", "wacz"), True)
    report = capture_while(
        server, site, "/", lambda: kill_parts(server, part), loadWait=HELD_OPEN, captureFormats=formats, fullPage=True
    )
    assert (report["status"], report["completeness"]["complete"]) == ("success", True)


@pytest.mark.parametrize("path", ["/zoo/landed", "/stall/silent"])
def test_frozen_browser_ends_the_capture_as_internal(
    server: CaptureServer, site: FixtureSite, recovers: None, path: str
) -> None:
    def freeze() -> None:
        os.killpg(server.browser().pid, signal.SIGSTOP)

    report = capture_while(server, site, path, freeze, loadWait=HELD_OPEN)
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "internal"), report["errorDetails"]
    assert "does not answer any more" in report["errorDetails"]["message"]


@pytest.mark.parametrize("kind", ["at once", "once loaded", "in a frame", "by a timer"])
def test_blocked_main_thread_is_a_timeout(server: CaptureServer, site: FixtureSite, recovers: None, kind: str) -> None:
    spin = "while (true);"
    script = {
        "at once": spin,
        "once loaded": f"addEventListener('load', () => {{ {spin} }})",
        "in a frame": f"document.write(`<iframe srcdoc='<script>{spin}</sc` + `ript>'></iframe>`)",
        "by a timer": f"setTimeout(() => {{ {spin} }}, 1500)",
    }[kind]
    site.set("/blocks", html(f"<!doctype html><title>b</title><p>here<script>{script}</script>"))
    report = capture_while(server, site, "/blocks", lambda: None, loadWait=HELD_OPEN)
    assert (report["status"], report["errorDetails"]["type"]) == ("timeout", "timeout")
    assert report["errorDetails"]["timeoutMs"] > 0
    assert report["errorDetails"]["step"]


def test_page_that_eats_all_memory_ends_as_internal(server: CaptureServer, site: FixtureSite, recovers: None) -> None:
    eat = "const kept = []; setInterval(() => { for (;;) kept.push(new Array(1e6).fill({})); }, 10)"
    site.set("/hungry", html(f"<!doctype html><title>h</title><script>{eat}</script>"))
    report = capture_while(server, site, "/hungry", lambda: None, loadWait=HELD_OPEN)
    assert report["errorDetails"]["type"] in ("internal", "timeout"), report["errorDetails"]
