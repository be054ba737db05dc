"""With the site stopped, pywb shows what was captured, beside what ReplayWeb.page shows in the ordinary suite."""

from pathlib import Path

import pytest

from tests.e2e import gallery
from tests.e2e.chromium import open_tab
from tests.e2e.pictures import colours, difference
from tests.e2e.replay import REPLAYED_DOCUMENT, REPLAYED_FRAME, shown
from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite
from tests.slow import pywb

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pywb.install(tmp_path_factory.mktemp("tools"))


def test_page_its_lazy_pictures_and_frames_look_like_the_live_ones(
    server: CaptureServer, site: FixtureSite, programs: Path, tmp_path: Path
) -> None:
    url = gallery.put_up(site)
    archive = path_of(server.capture(url, behaviors=[gallery.SCROLLS])["artifacts"]["wacz"])
    with (
        site.gone(),
        pywb.playing(programs, tmp_path / "player", archive) as address,
        open_tab(f"{address}/{url}") as tab,
    ):
        frame = tab.wait_for(REPLAYED_FRAME)
        replayed = gallery.pictures(tab, REPLAYED_DOCUMENT, frame)
        assert tab.wait_for(shown(gallery.FRAMES_SAY)) == gallery.FRAMED
    with open_tab(url, frame["width"], frame["height"]) as tab:
        live = gallery.pictures(tab, "document")
    for name, picture in live.items():
        (tmp_path / f"{name}-live.png").write_bytes(picture)
        (tmp_path / f"{name}-replayed.png").write_bytes(replayed[name])
        assert colours(picture) > 100
        assert difference(picture, replayed[name]) < 0.02, f"compare the pictures in {tmp_path}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/zoo/post", "page.querySelector('#answer')?.textContent === 'POST {\"tide\":\"ebb\"}'"),
        ("/redirect/chain?n=2", "page.querySelector('h1')?.textContent === 'You have landed'"),
    ],
)
def test_answers_to_posts_and_redirects_are_found(
    server: CaptureServer, site: FixtureSite, programs: Path, tmp_path: Path, path: str, expected: str
) -> None:
    url = site.url(0, path)
    archive = path_of(server.capture(url)["artifacts"]["wacz"])
    with (
        site.gone(),
        pywb.playing(programs, tmp_path / "player", archive) as address,
        open_tab(f"{address}/{url}") as tab,
    ):
        tab.wait_for(shown(expected))


def test_indexer_of_pywb_finds_what_our_index_has(
    server: CaptureServer, site: FixtureSite, programs: Path, tmp_path: Path
) -> None:
    archive = Archive.of(server.capture(site.url(0, "/zoo/frame")))
    with pywb.playing(programs, tmp_path / "player", archive.path):
        theirs = pywb.index(tmp_path / "player")
    ours = pywb.entries(archive.members["indexes/index.cdx"].decode())
    assert ours
    assert {entry[:3] for entry in ours} == {entry[:3] for entry in theirs}
