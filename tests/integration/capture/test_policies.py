"""What policies keep out: requests that never leave, records and bodies that are not kept."""

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.server import CaptureServer
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

pytestmark = pytest.mark.browser


def test_denied_request_never_leaves(server: CaptureServer, site: FixtureSite) -> None:
    site.set("/denying", html("<!doctype html><script>fetch('/secret?x=1').catch(() => 0); fetch('/echo')</script>"))
    site.clear_log()
    report = server.capture(site.url(0, "/denying"), urlPolicies=[{"pattern": "*/secret?*", "action": "deny"}])
    assert report["waczStats"]["totalBlocked"] == 1
    told = Archive.of(report).package["comity"]["completeness"]["reasons"]
    assert told["blocked"] == {site.url(0, "/secret?x=1"): "denied by policy"}
    assert not site.asked_for("/secret")
    assert site.asked_for("/echo")


@pytest.mark.parametrize(("action", "recorded"), [("no-archive", 0), ("no-body", 1)])
def test_policy_leaves_out_what_it_names(server: CaptureServer, site: FixtureSite, action: str, recorded: int) -> None:
    site.set("/policed", html("<!doctype html><script>fetch('/echo?x').then(r => r.text())</script>"))
    site.clear_log()
    report = server.capture(site.url(0, "/policed"), urlPolicies=[{"pattern": "*/echo?x", "action": action}])
    assert site.asked_for("/echo?x")
    records = Archive.of(report).responses("/echo?x")
    assert len(records) == recorded
    assert all(record.body == b"" for record in records)
    assert report["completeness"]["bodylessUrls"] == ([site.url(0, "/echo?x")] if recorded else [])


SOCKET = "new WebSocket('ws' + location.origin.slice(4) + '/socket?secret')"
OPENS_SOCKET = {
    "page": f"<!doctype html><script>{SOCKET}</script>",
    "worker": "<!doctype html><script>new Worker('/socket.js')</script>",
    "frame": "<!doctype html><iframe src='{other}/socket-frame'></iframe>",
}


@pytest.mark.parametrize("where", OPENS_SOCKET)
def test_denied_websocket_ends_the_page_by_policy(server: CaptureServer, site: FixtureSite, where: str) -> None:
    site.set("/socket-page", html(OPENS_SOCKET[where].replace("{other}", site.origin(1))))
    site.set("/socket-frame", html(f"<!doctype html><script>{SOCKET}</script>"))
    site.set("/socket.js", Response(body=SOCKET.encode(), content_type="text/javascript"))
    denied = [{"pattern": "ws*/socket?secret", "action": "deny"}]
    site.clear_log()
    report = server.capture(site.url(0, "/socket-page"), urlPolicies=denied)
    assert report["status"] == "failed"
    assert report["errorDetails"]["type"] == "policy"
    assert "/socket?secret" in report["errorDetails"]["message"]
    assert report["waczStats"]["totalBlocked"] == 1
    assert report["artifacts"] == {}
    assert not site.asked_for("/socket?secret"), "its handshake has left"
    allowed = server.capture(site.url(0, "/socket-page"), urlPolicies=[{"pattern": "ws*/other", "action": "deny"}])
    assert allowed["status"] == "success"
    assert allowed["waczStats"]["totalBlocked"] == 0
    assert site.asked_for("/socket?secret")


def test_content_types_named_keep_no_body(server: CaptureServer, site: FixtureSite) -> None:
    page = (
        "<!doctype html><link rel=stylesheet href='/style.css'><script>fetch('/echo?kept').then(r => r.text())</script>"
    )
    site.set("/typed", html(page))
    rule = [{"prefix": "TEXT/css", "action": "no-body"}]
    report = server.capture(site.url(0, "/typed"), contentTypePolicies=rule)
    archive = Archive.of(report)
    assert archive.responses("/style.css")[0].body == b""
    assert archive.responses("/style.css")[0].headers["WARC-Truncated"] == "unspecified"
    assert archive.responses("/echo?kept")[0].body == b"GET "
    assert report["completeness"]["bodylessUrls"] == [site.url(0, "/style.css")]
    assert archive.package["comity"]["completeness"]["reasons"]["bodyless"] == {
        site.url(0, "/style.css"): "left out by policy"
    }
