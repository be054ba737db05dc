"""The blank page that waits for the next capture: as new, used once, and no harm if it dies."""

import contextlib
from pathlib import Path

import psutil
import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.server import CaptureServer, script, until
from tests.site.fixture import FixtureSite
from tests.site.wire import html
from tests.slow.process_tree import kind_of

pytestmark = pytest.mark.browser

APPEARS_S = 30.0
WHO = """<!doctype html><script>
  document.title = [history.length, window.name, document.cookie, localStorage.length, globalThis.left,
    navigator.language, innerWidth].join('|');
  window.name = 'before'; localStorage.a = 1; globalThis.left = 1; document.cookie = 'a=1';
</script>"""


def renderers(server: CaptureServer) -> list[psutil.Process]:
    return [process for process in server.descendants() if kind_of(process) == "renderer"]


def test_page_opened_ahead_is_as_new_and_does_what_its_own_capture_asks(
    server: CaptureServer, site: FixtureSite
) -> None:
    site.set("/who", html(WHO))
    asked = {
        "acceptLanguage": "de-AT",
        "viewport": {"width": 700, "height": 500},
        "preload": [script("mark", "globalThis.left = 'preload';")],
    }
    titles = []
    for settings in ({}, asked, {}):
        report = server.capture(site.url(0, "/who"), **settings)
        titles.append(Archive.of(report).pages[0]["title"])
    first, second, third = (title.split("|") for title in titles)
    assert first == third
    assert first[1:5] == ["", "", "0", ""]
    assert second == [first[0], "", "", "0", "preload", "de-AT", "700"]


def test_no_page_is_used_that_died_while_it_waited(store: Path, site: FixtureSite) -> None:
    with CaptureServer(store, **QUICK) as server:
        for _ in range(3):
            assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"
            assert until(lambda: renderers(server), APPEARS_S)
            for process in renderers(server):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"


def test_no_page_waits_in_a_browser_that_will_not_be_used_again(store: Path, site: FixtureSite) -> None:
    with CaptureServer(store, **QUICK, CAPTURE_RECYCLE_CAPTURES="1") as server:
        browsers = set()
        for _ in range(3):
            assert server.capture(site.url(2, "/zoo/landed"))["status"] == "success"
            browsers.add(server.browser().pid)
            assert until(lambda: not renderers(server), APPEARS_S)
    assert len(browsers) == 3
