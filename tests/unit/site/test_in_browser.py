"""What a real browser asks the site for of its own accord, and how its requests group into visits."""

from collections.abc import Iterator

import pytest
from websockets.sync.connection import Connection

from tests.site import FixtureSite
from tests.site.zoo.pages import ASKED_WITHOUT_SCRIPT, FEED_ITEMS, LAZY, VARIANTS
from tests.unit.site.tab import Tab, browser, wait_for

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=2) as site:
        yield site


@pytest.fixture(scope="module")
def socket() -> Iterator[Connection]:
    with browser() as socket:
        yield socket


@pytest.fixture
def site(running: FixtureSite) -> FixtureSite:
    running.clear_log()
    return running


@pytest.fixture
def tab(socket: Connection) -> Tab:
    return Tab(socket)


def asked(site: FixtureSite) -> set[str]:
    return {entry.path for entry in site.log}


def test_browser_leaves_the_variants_to_a_script(site: FixtureSite, tab: Tab) -> None:
    tab.open(site.url(0, "/zoo/variants"), "Variants")
    assert {name for name, path in VARIANTS.items() if path in asked(site)} == ASKED_WITHOUT_SCRIPT


def test_lazy_pictures_come_when_somebody_scrolls_and_not_before(site: FixtureSite, tab: Tab) -> None:
    tab.open(site.url(0, "/zoo/lazy"), "Lazy pictures")
    assert not asked(site) & set(LAZY)
    tab.value("scrollTo(0, 7500)")
    wait_for(lambda: LAZY[0] in asked(site))
    assert LAZY[-1] not in asked(site)


def test_feed_grows_with_scrolling_and_not_without(site: FixtureSite, tab: Tab) -> None:
    tab.open(site.url(0, "/zoo/feed"), f"Feed ({FEED_ITEMS})")
    assert len(site.asked_for("/zoo/feed.json")) == 1
    tab.value("scrollTo(0, document.body.scrollHeight)")
    wait_for(lambda: tab.value("document.title") == f"Feed ({2 * FEED_ITEMS})")
    assert len(site.asked_for("/zoo/feed.json")) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/zoo/redirect/meta",
        "/zoo/redirect/location",
        "/zoo/redirect/replace",
        "/zoo/redirect/late",
        "/redirect/chain?n=2",
    ],
)
def test_redirects_of_both_kinds_stay_one_visit(site: FixtureSite, tab: Tab, path: str) -> None:
    tab.open(site.url(0, path), "Landed")
    tab.open(site.url(0, "/zoo/post"), "Posted")
    first, second = site.visits()
    assert (first.path, second.path) == (path, "/zoo/post")
    gap_s = site.smallest_gap_s(0)
    assert gap_s is not None
    assert gap_s > 0


def test_frames_are_no_pages(site: FixtureSite, tab: Tab) -> None:
    tab.open(site.url(0, "/zoo/frame"), "Frames")
    assert [entry.bare_path for entry in site.page_requests()] == ["/zoo/frame"]
    frames = {(entry.host_index, entry.path) for entry in site.requests(kind="frame")}
    assert frames == {(0, "/zoo/memory"), (1, "/zoo/landed")}


def test_memory_tells_a_second_visit_from_a_first(site: FixtureSite, tab: Tab, socket: Connection) -> None:
    tab.open(site.url(0, "/zoo/memory"), "First visit")
    tab.open(site.url(0, "/zoo/memory"), "Welcome back")
    assert tab.value("document.querySelector('#server').textContent") == "known"
    assert tab.value("document.querySelector('#seen').textContent") == "localStorage sessionStorage cookie"
    Tab(socket).open(site.url(0, "/zoo/memory"), "First visit")


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/", "The log of Gull Point Light"),
        ("/zoo/post", "Posted"),
        ("/block?ms=50", "Busy no more"),
        ("/zoo/charset/shift_jis?meta", "灯台の手帖、潮の香り。"),
        ("/zoo/charset/euc_jp", "無人駅の待合室。"),
        ("/zoo/charset/iso2022_jp", "深海の郵便局。"),
        ("/zoo/charset/utf-16", "雲の美術館。"),
        ("/gzip", "Packed"),
        ("/zoo/dialog/popup", "Opened"),
        ("/zoo/banner", "Behind a banner"),
        ("/zoo/broken-parts", "Broken parts"),
    ],
)
def test_page_does_what_its_cage_says(site: FixtureSite, tab: Tab, path: str, title: str) -> None:
    tab.open(site.url(0, path), title)
