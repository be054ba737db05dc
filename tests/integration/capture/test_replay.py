"""With the site gone, ReplayWeb.page in a real browser shows what the page was."""

from pathlib import Path

import pytest

from tests.e2e import gallery
from tests.e2e.chromium import open_tab
from tests.e2e.pictures import colours, difference
from tests.e2e.replay import REPLAYED_DOCUMENT, REPLAYED_FRAME, replayed, shown
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def test_page_has_its_pictures_and_style(server: CaptureServer, site: FixtureSite, tmp_path: Path) -> None:
    report = server.capture(site.url(0), "wacz", "html")
    archive = path_of(report["artifacts"]["wacz"])
    pictures = "[...page.images].every(image => image.complete && image.naturalWidth > 0)"
    with site.gone(), replayed(archive, site.url(0)) as tab:
        tab.wait_for(shown(f"page.images.length > 0 && {pictures}"))
        tab.wait_for(shown("[...page.styleSheets].some(sheet => sheet.cssRules.length > 0)"))
        tab.screenshot(tmp_path / "replayed.png")


def test_answer_to_a_post_is_found(server: CaptureServer, site: FixtureSite) -> None:
    url = site.url(0, "/zoo/post")
    archive = path_of(server.capture(url)["artifacts"]["wacz"])
    with site.gone(), replayed(archive, url) as tab:
        tab.wait_for(shown("page.querySelector('#answer')?.textContent === 'POST {\"tide\":\"ebb\"}'"))


def test_redirected_page_is_found_by_its_first_address(server: CaptureServer, site: FixtureSite) -> None:
    url = site.url(0, "/redirect/chain?n=2")
    archive = path_of(server.capture(url)["artifacts"]["wacz"])
    with site.gone(), replayed(archive, url) as tab:
        tab.wait_for(shown("page.querySelector('h1')?.textContent === 'You have landed'"))


def test_replayed_page_looks_like_the_live_one(server: CaptureServer, site: FixtureSite, tmp_path: Path) -> None:
    url = gallery.put_up(site)
    report = server.capture(url, behaviors=[gallery.SCROLLS])
    assert report["completeness"]["complete"] is True
    archive = path_of(report["artifacts"]["wacz"])
    with site.gone(), replayed(archive, url) as tab:
        frame = tab.wait_for(REPLAYED_FRAME)
        shown_again = gallery.pictures(tab, REPLAYED_DOCUMENT, frame)
        assert tab.wait_for(shown(gallery.FRAMES_SAY)) == gallery.FRAMED
    with open_tab(url, width=frame["width"], height=frame["height"]) as tab:
        live = gallery.pictures(tab, "document")
    for name, picture in live.items():
        (tmp_path / f"{name}-live.png").write_bytes(picture)
        (tmp_path / f"{name}-replayed.png").write_bytes(shown_again[name])
        assert colours(picture) > 100, "a picture of nothing"
        assert difference(picture, shown_again[name]) < 0.02, f"compare the pictures in {tmp_path}"
    assert difference(live["top"], live["lazy"]) > 0.2, "two views that look alike prove nothing"
