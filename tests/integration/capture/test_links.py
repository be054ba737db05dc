"""The links of a page, and what it tells robots."""

import json

import pytest

from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def test_links_are_listed_in_document_order(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/zoo/links"), "links")
    found = json.loads(path_of(report["artifacts"]["links"]).read_bytes())
    assert found["url"] == found["finalUrl"] == site.url(0, "/zoo/links")
    by_text = {link.get("text"): link for link in found["links"]}
    assert by_text["plain"]["href"] == site.url(0, "/zoo/landed")
    assert by_text["nofollow in a list"]["rel"] == "external NoFollow"
    assert by_text["another host"]["href"] == site.url(1, "/zoo/landed")
    assert by_text["relative"]["href"] == site.url(0, "/zoo/landed")
    assert found["links"][-1]["href"] == site.url(0, "/zoo/banner")
    assert "no address" not in by_text


@pytest.mark.parametrize(
    ("kind", "robots"),
    [
        ("plain", []),
        ("meta", [{"source": "meta", "name": "robots", "value": "index, NoFollow"}]),
        ("meta-ours", [{"source": "meta", "name": "comity", "value": "nofollow"}]),
        ("meta-other", []),
        ("meta-by-script", [{"source": "meta", "name": "robots", "value": "nofollow"}]),
        ("header-ours", [{"source": "header", "value": "Comity: nofollow"}]),
        (
            "header-second",
            [
                {"source": "header", "value": "max-snippet: 5"},
                {"source": "header", "value": "unavailable_after: 25 Jun 2050 15:00:00 GMT, nofollow"},
            ],
        ),
    ],
)
def test_links_file_has_what_the_page_tells_robots(
    server: CaptureServer, site: FixtureSite, kind: str, robots: list[dict[str, str]]
) -> None:
    report = server.capture(site.url(0, f"/redirect/to?url=/zoo/robots/{kind}"), "links")
    found = json.loads(path_of(report["artifacts"]["links"]).read_bytes())
    assert found["robots"] == robots
    assert [link["href"] for link in found["links"]] == [site.url(0, "/zoo/landed")]
