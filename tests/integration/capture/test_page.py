"""What the page finds: its language, its screen, no memory, no permissions."""

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite
from tests.site.wire import html

pytestmark = pytest.mark.browser


def test_language_is_asked_exactly_and_shown_to_scripts(server: CaptureServer, site: FixtureSite) -> None:
    site.clear_log()
    said = script_title("navigator.languages.join()")
    site.set("/lang", html(said))
    report = server.capture(site.url(0, "/lang"), acceptLanguage="ja, en;q=0.5")
    assert site.asked_for("/lang")[0].headers["accept-language"] == "ja, en;q=0.5"
    assert Archive.of(report).pages[0]["title"] == "ja,en"


def script_title(expression: str) -> str:
    return f"<!doctype html><script>document.title = {expression}</script>"


def test_page_forgets_its_visitor(server: CaptureServer, site: FixtureSite) -> None:
    for _ in range(2):
        report = server.capture(site.url(0, "/zoo/memory"))
        assert Archive.of(report).pages[0]["title"] == "First visit"


def test_each_pixel_ratio_is_a_load_of_its_own(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/ratio", html(script_title("devicePixelRatio")))
    site.clear_log()
    report = server.capture(
        site.url(0, "/ratio"), "wacz", "png", devicePixelRatios=[1, 2], viewport={"width": 300, "height": 200}
    )
    assert len(site.asked_for("/ratio")) == 2
    assert Archive.of(report).pages[0]["title"] == "2"
    png = path_of(report["artifacts"]["png"]).read_bytes()
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (600, 400)


def test_permissions_are_denied(server: CaptureServer, site: FixtureSite) -> None:
    asks = (
        "Promise.all(['geolocation', 'notifications', 'camera'].map(name => navigator.permissions.query({name})))"
        ".then(all => { document.title = all.map(one => one.state).join() })"
    )
    site.set("/permits", html(f"<!doctype html><script>{asks}</script>"))
    archive = Archive.of(server.capture(site.url(0, "/permits")))
    assert archive.pages[0]["title"] == "denied,denied,denied"
