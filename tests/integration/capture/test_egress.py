"""The guarded target hears nothing, whatever leads there; beside it, the allowed one does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.capture.archives import Archive
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.listener import Listener
from tests.integration.capture.server import CaptureServer, until
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

pytestmark = pytest.mark.browser

WAYS = {
    "image": "<img src='http://{at}/image'>",
    "script": "<script src='http://{at}/script'></script>",
    "style": "<link rel=stylesheet href='http://{at}/style'>",
    "font": "<style>@font-face {{ font-family: f; src: url(http://{at}/font) }} p {{ font-family: f }}</style><p>x",
    "iframe": "<iframe src='http://{at}/iframe'></iframe>",
    "object": "<object data='http://{at}/object'></object>",
    "media": "<video preload=auto src='http://{at}/media'></video>",
    "prefetch": "<link rel=prefetch href='http://{at}/prefetch'>",
    "preload": "<link rel=preload as=fetch href='http://{at}/preload'>",
    "fetch": "<script>fetch('http://{at}/fetch', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "keepalive": "<script>fetch('http://{at}/keepalive', {{mode: 'no-cors', keepalive: true}}).catch(() => 0)</script>",
    "beacon": "<script>navigator.sendBeacon('http://{at}/beacon', 'b')</script>",
    "events": "<script>new EventSource('http://{at}/events')</script>",
    "socket": "<script>new WebSocket('ws://{at}/socket')</script>",
    "worker": '<script>new Worker(URL.createObjectURL(new Blob([\'fetch("http://{at}/worker", '
    '{{mode: "no-cors"}}).catch(() => 0)\'])))</script>',
    "shared": '<script>new SharedWorker(URL.createObjectURL(new Blob([\'fetch("http://{at}/shared", '
    '{{mode: "no-cors"}}).catch(() => 0)\'])))</script>',
    "service": "<script>navigator.serviceWorker.register('/service.js?{at}', {{scope: '/{at}/'}})</script>",
    "redirect": "<img src='/redirect/to?url=http://{at}/redirect'>",
    "refresh": "<iframe srcdoc='<meta http-equiv=refresh content=\"0; url=http://{at}/refresh\">'></iframe>",
    "form": "<iframe name='{at}'></iframe><form action='http://{at}/form' target='{at}' method=post></form>"
    "<script>document.currentScript.previousElementSibling.submit()</script>",
    "connect": "<link rel=preconnect href='http://{at}'>",
}
"""How a page reaches out. All but the last ask for a path of their own name."""
SERVICE_WORKER = b"""const asking = fetch(`http://${location.search.slice(1)}/service`, {mode: "no-cors"});
oninstall = event => event.waitUntil(asking.catch(() => 0))"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[Listener]:
    with Listener("127.0.0.1") as listener:
        yield listener


@pytest.fixture(scope="module")
def allowed() -> Iterator[Listener]:
    with Listener("127.0.0.1") as listener:
        yield listener


@pytest.fixture(scope="module")
def server(site: FixtureSite, allowed: Listener, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureServer]:
    allow = f"{site.hosts[0]},{allowed.authority}"
    with CaptureServer(tmp_path_factory.mktemp("egress") / "store", **QUICK, COMITY_ALLOW_PRIVATE=allow) as running:
        yield running


def test_no_way_of_a_page_leads_to_a_guarded_target(
    server: CaptureServer, site: FixtureSite, guarded: Listener, allowed: Listener
) -> None:
    parts = [way.format(at=target.authority) for way in WAYS.values() for target in (guarded, allowed)]
    site.set("/ways", html("<!doctype html><title>ways</title>" + "".join(parts)))
    site.set("/service.js", Response(body=SERVICE_WORKER, content_type="text/javascript"))
    report = server.capture(site.url(0, "/ways"))
    assert report["status"] == "success"
    wanted = {f"/{name}" for name in WAYS if name != "connect"}
    assert until(lambda: wanted <= allowed.paths, 5), wanted - allowed.paths
    assert guarded.connections == 0
    assert report["waczStats"]["totalBlocked"] >= len(wanted) - 4  # two or three are not told as requests of the page


@pytest.mark.parametrize(
    "spelling", ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "[::ffff:127.0.0.1]",
                 "[::ffff:7f00:1]", "localhost", "sub.localhost", "127.0.0.1.", "0.0.0.0", "0",
                 "[64:ff9b::7f00:1]", "[2002:7f00:1::1]", "[::7f00:1]"]
)  # fmt: skip
def test_no_spelling_of_an_address_passes(
    server: CaptureServer, site: FixtureSite, guarded: Listener, spelling: str
) -> None:
    guarded.forget()
    report = server.capture(site.url(0, f"/zoo/redirect/location?to=http://{spelling}:{guarded.port}/"))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "policy")
    assert "COMITY_ALLOW_PRIVATE=" in report["errorDetails"]["message"]
    assert f":{guarded.port}" in report["errorDetails"]["message"]
    assert guarded.connections == 0


@pytest.mark.parametrize("spelling", ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_every_spelling_of_an_allowed_address_passes(
    server: CaptureServer, site: FixtureSite, allowed: Listener, spelling: str
) -> None:
    allowed.forget()
    report = server.capture(site.url(0, f"/zoo/redirect/location?to=http://{spelling}:{allowed.port}/spelt"))
    assert report["status"] == "success"
    assert "/spelt" in allowed.paths


@pytest.mark.parametrize(
    ("address", "name"),
    [("[::1]", "loopback"), ("10.255.255.254", "private"), ("192.168.255.254", "private"),
     ("[fd00::1]", "unique local"), ("[64:ff9b::7f00:1]", "loopback"), ("[2002:7f00:1::1]", "loopback"),
     ("100.64.0.1", "carrier-grade NAT")],
)  # fmt: skip
def test_addresses_off_the_public_web_are_named(
    server: CaptureServer, guarded: Listener, address: str, name: str
) -> None:
    guarded.forget()
    report = server.capture(f"http://{address}:{guarded.port}/")
    assert guarded.connections == 0
    assert report["errorDetails"]["type"] == "policy"
    assert name in report["errorDetails"]["message"]


@pytest.mark.parametrize("address", ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "[::ffff:a9fe:a9fe]"])
def test_metadata_is_never_visited(store: Path, site: FixtureSite, server: CaptureServer, address: str) -> None:
    report = server.capture(f"http://{address}/latest/meta-data/")
    assert report["errorDetails"]["type"] == "policy"
    assert "never visited" in report["errorDetails"]["message"]


@pytest.mark.parametrize("by", ["server", "location", "meta"])
def test_page_that_leads_inside_ends_as_policy(
    server: CaptureServer, site: FixtureSite, guarded: Listener, allowed: Listener, by: str
) -> None:
    guarded.forget()
    path = "/redirect/to?url=http://{}/r" if by == "server" else f"/zoo/redirect/{by}?to=http://{{}}/r"
    assert server.capture(site.url(0, path.format(allowed.authority)))["finalUrl"].endswith("/r")
    report = server.capture(site.url(0, path.format(guarded.authority)))
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "policy")
    assert f"COMITY_ALLOW_PRIVATE={guarded.authority}" in report["errorDetails"]["message"]
    assert guarded.connections == 0


def test_server_itself_is_never_visited(store: Path, site: FixtureSite, guarded: Listener) -> None:
    guarded.forget()
    with CaptureServer(store, **QUICK, COMITY_DENY=guarded.authority) as server:  # allows all of 127.0.0.0/8
        elsewhere = server.url.replace("127.0.0.1", "127.0.0.5")
        for url in (
            f"{server.url}/healthz",
            elsewhere,
            f"http://{guarded.authority}/",
            f"http://0.0.0.0:{guarded.port}/",
        ):
            report = server.capture(url)
            assert report["errorDetails"]["type"] == "policy", url
            assert "COMITY_DENY" in report["errorDetails"]["message"]
        assert server.capture(site.url(0, "/zoo/landed"))["status"] == "success"
    assert guarded.connections == 0


def test_address_in_the_archive_is_the_sites_own(server: CaptureServer, allowed: Listener) -> None:
    archive = Archive.of(server.capture(f"http://localhost:{allowed.port}/address"))
    assert archive.responses("/address")[0].headers["WARC-IP-Address"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("setting", "value"), [("COMITY_ALLOW_PRIVATE", "intranet"), ("COMITY_DENY", "ledger.example:80")]
)
def test_setting_that_cannot_be_read_ends_the_start(store: Path, setting: str, value: str) -> None:
    server = CaptureServer(store, **{setting: value})
    with pytest.raises(AssertionError, match=f"{setting}: '{value}' has"):
        server.__enter__()
    assert server.process.wait(60) == 2
    server.end()
