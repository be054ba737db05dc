"""What a capture makes: every format whole, and an archive that says how it came about."""

import email
import hashlib
import json

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer, path_of
from tests.site.fixture import FixtureSite

pytestmark = pytest.mark.browser


def test_page_with_all_formats_is_whole(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0), "png", "webp", "html", "links", "mhtml", "wacz", fullPage=True)
    assert report["status"] == "success"
    assert set(report["artifacts"]) == {"png", "webp", "html", "links", "mhtml", "wacz"}
    assert report["completeness"] == {"bodylessUrls": [], "truncatedUrls": [], "complete": True}
    assert report["settle"]["outcome"] == "quiet"
    png = path_of(report["artifacts"]["png"]).read_bytes()
    assert png.startswith(b"\x89PNG")
    webp = path_of(report["artifacts"]["webp"]).read_bytes()
    assert (webp[:4], webp[8:15]) == (b"RIFF", b"WEBPVP8")
    mhtml = email.message_from_bytes(path_of(report["artifacts"]["mhtml"]).read_bytes())
    kinds = [part.get_content_type() for part in mhtml.walk()]
    assert kinds[:2] == ["multipart/related", "text/html"]
    assert {"text/css", "image/png"} <= set(kinds)
    assert b"<html" in path_of(report["artifacts"]["html"]).read_bytes()
    archive = Archive.of(report)
    seen = {entry.url for entry in site.log if entry.kind != "robots" and entry.host == site.hosts[0]}
    recorded = {record.url for record in archive.records if record.kind == "response"}
    assert {site.url(0), site.url(0, "/style.css")} <= recorded <= seen
    assert any("/pictures/" in url for url in recorded)
    page = archive.pages[0]
    assert page["url"] == site.url(0)
    assert page["title"]
    assert page["text"]


def test_datapackage_hashes_every_member_and_tells_the_capture(server: CaptureServer, site: FixtureSite) -> None:
    report = server.capture(site.url(0, "/zoo/landed"), viewport={"width": 800, "height": 600})
    archive = Archive.of(report)
    listed = {item["path"]: item for item in archive.package["resources"]}
    assert set(archive.members) - set(listed) == {"datapackage.json", "datapackage-digest.json"}
    for path, item in listed.items():
        assert item["hash"] == f"sha256:{hashlib.sha256(archive.members[path]).hexdigest()}"
        assert item["bytes"] == len(archive.members[path])
    told = archive.package["comity"]
    assert told["completeness"]["complete"] is True
    assert told["settle"]["outcome"] == "quiet"
    assert told["settings"]["viewport"] == {"width": 800, "height": 600}
    assert "Chrome" in told["browser"]["product"]
    digest = json.loads(archive.members["datapackage-digest.json"])
    assert digest["hash"] == f"sha256:{hashlib.sha256(archive.members['datapackage.json']).hexdigest()}"
