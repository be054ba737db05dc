"""Banners out of the way: nothing is consented to, and the report says what was done to the page."""

from typing import Any

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite
from tests.site.wire import html

pytestmark = pytest.mark.browser

ONETRUST = (
    "<!doctype html><title>Asked</title><body style='overflow: hidden'><p>The text.</p>"
    "<div id='onetrust-consent-sdk'><div id='onetrust-banner-sdk' style='position: fixed; inset: 80% 0 0; z-index: 9'>"
    "<button id='onetrust-accept-btn-handler' onclick=\"document.title = 'Accepted'\">Yes</button>"
    "<button id='onetrust-reject-all-handler' onclick=\"document.title = 'Refused'; {then}\">No</button></div></div>"
    "<script>setTimeout(() => document.title += getComputedStyle(document.body).overflowY, 0)</script>"
)
GOES = "document.querySelector('#onetrust-banner-sdk').remove(); this.remove()"


def dismissing(server: CaptureServer, url: str, *, then: str = "", **spec: Any) -> tuple[dict[str, Any], str]:
    """The report and the rendered page."""
    wanted = {"spec": spec} if spec else {"enabled": True}
    report = server.capture(url, "html", "wacz", dismissBanners=wanted)
    assert report["status"] == "success", report
    return report, path_of(report["artifacts"]["html"]).read_text()


def test_large_overlay_is_hidden_and_told(server: CaptureServer, site: FixtureSite) -> None:
    report, page = dismissing(server, site.url(0, "/zoo/banner"))
    assert [item["by"] for item in report["banners"]["dismissed"]] == ["heuristic"]
    told = report["banners"]["dismissed"][0]
    assert told["selector"] == "div#cookie-consent"
    assert told["coverageRatio"] == pytest.approx(0.6, abs=0.01)
    assert 'style="display: none !important;"' in page
    assert "<title>Behind a banner</title>" in page
    archive = Archive.of(report)
    assert archive.package["comity"]["banners"] == report["banners"]
    assert "We value cookies" not in archive.pages[0]["text"]
    assert "The text that people came for." in archive.pages[0]["text"]


@pytest.mark.parametrize(
    "heuristic", [{"enabled": False}, {"minViewportCoverageRatio": 0.7}, {"minZIndex": 100_000}], ids=str
)
def test_overlay_below_the_measure_stays(server: CaptureServer, site: FixtureSite, heuristic: dict[str, Any]) -> None:
    report, page = dismissing(server, site.url(0, "/zoo/banner"), heuristic=heuristic)
    assert report["banners"] == {"dismissed": [], "errors": []}
    assert "display: none" not in page


@pytest.mark.parametrize(("then", "how"), [(GOES, "refused"), ("", "hidden")])
def test_known_framework_is_refused_or_hidden_never_accepted(
    server: CaptureServer, site: FixtureSite, then: str, how: str
) -> None:
    site.set("/asks", html(ONETRUST.replace("{then}", then)))
    report, page = dismissing(server, site.url(0, "/asks"))
    assert [(item["framework"], item["how"]) for item in report["banners"]["dismissed"]] == [("onetrust", how)]
    assert "<title>Refused" in page
    assert "overflow: auto !important" in page


def test_framework_left_out_stays(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/asks", html(ONETRUST.replace("{then}", GOES)))
    for spec in ({"excludeFrameworks": ["onetrust"]}, {"useDefaults": False}):
        report, page = dismissing(server, site.url(0, "/asks"), **spec)
        assert report["banners"]["dismissed"] == []
        assert "<title>Asked" in page


def test_given_selectors_are_hidden_and_a_broken_one_is_told(server: CaptureServer, site: FixtureSite) -> None:
    selectors = ["main > p", "p[["]
    report, page = dismissing(
        server, site.url(0, "/zoo/banner"), extraSelectors=selectors, heuristic={"enabled": False}
    )
    assert [item["selector"] for item in report["banners"]["dismissed"]] == ["main > p"]
    assert report["banners"]["errors"] == ["not a selector: p[["]
    assert '<p style="display: none !important;">' in page
    failing = {"spec": {"extraSelectors": selectors, "failOnError": True}}
    failed = server.capture(site.url(0, "/zoo/banner"), "html", dismissBanners=failing)
    assert failed["status"] == "failed"
    assert failed["errorDetails"]["step"] == "banners"
    assert "p[[" in failed["errorDetails"]["message"]


def test_fixed_element_that_is_the_page_stays(server: CaptureServer, site: FixtureSite) -> None:
    text = "<p>A page that lives in one fixed element.</p>" * 20
    site.set("/app", html(f"<!doctype html><div style='position: fixed; inset: 0; z-index: 999'>{text}</div>"))
    report, _ = dismissing(server, site.url(0, "/app"))
    assert report["banners"]["dismissed"] == []
