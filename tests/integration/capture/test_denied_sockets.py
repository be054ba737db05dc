"""A denied WebSocket over TLS: nothing of its handshake reaches the site, and an allowed one is let through."""

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.capture.egress.sockets import SocketGate
from tests.integration.capture.conftest import QUICK
from tests.integration.capture.listener import Listener
from tests.integration.capture.server import CaptureServer
from tests.integration.capture.tls_host import TlsHost
from tests.site.fixture import FixtureSite
from tests.site.wire import Response, html

SOCKET = "new WebSocket('wss://{at}/socket?secret')"
OPENS = {
    "page": f"<!doctype html><script>{SOCKET}</script>",
    "busy-page": f"<!doctype html><script>{SOCKET}; for (const end = Date.now() + 700; Date.now() < end;);</script>",
    "worker": "<!doctype html><script>new Worker('/wss.js')</script>",
    "frame": "<!doctype html><iframe src='{other}/wss-frame'></iframe>",
}


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listener, CaptureServer]]:
    """A listener that speaks TLS, and a capture server whose browser trusts it."""
    folder: Path = tmp_path_factory.mktemp("wss")
    with TlsHost(folder, {}) as host:
        browser = str(host.browser)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    context.set_alpn_protocols(["http/1.1"])
    with Listener("127.0.0.1", tls=context) as listener:
        store = folder / "capture" / "store"
        store.parent.mkdir()
        with CaptureServer(store, **QUICK, COMITY_BROWSER=browser) as server:
            yield listener, server


@pytest.mark.browser
@pytest.mark.parametrize("where", OPENS)
def test_denied_socket_over_tls_says_nothing(
    trusting: tuple[Listener, CaptureServer], site: FixtureSite, where: str
) -> None:
    listener, server = trusting
    here = {"{at}": listener.authority, "{other}": site.origin(1)}

    def filled(text: str) -> str:
        for name, value in here.items():
            text = text.replace(name, value)
        return text

    site.set("/wss-page", html(filled(OPENS[where])))
    site.set("/wss-frame", html(filled(f"<!doctype html><script>{SOCKET}</script>")))
    site.set("/wss.js", Response(body=filled(SOCKET).encode(), content_type="text/javascript"))
    listener.forget()
    denied = [{"pattern": "*/socket?secret", "action": "deny"}]
    report = server.capture(site.url(0, "/wss-page"), urlPolicies=denied)
    assert (report["status"], report["errorDetails"]["type"]) == ("failed", "policy")
    assert report["waczStats"]["totalBlocked"] == 1
    assert not listener.connections, "its handshake has left"
    others = [{"pattern": "wss://elsewhere.example/*", "action": "deny"}]
    report = server.capture(site.url(0, "/wss-page"), urlPolicies=others)
    assert report["status"] == "success"
    assert report["waczStats"]["totalBlocked"] == 0
    assert listener.paths == {"/socket?secret"}


@pytest.mark.browser
def test_denied_socket_is_no_stream_of_the_pages_own_connection(store: Path, tmp_path: Path) -> None:
    answers = {"/": ("text/html", b"<!doctype html><script src=/a.js></script>"), "/a.js": ("text/javascript", b"")}
    answers["/a.js"] = ("text/javascript", b"new WebSocket('wss://' + location.host + '/socket')")
    with TlsHost(tmp_path, answers) as host, CaptureServer(store, **QUICK, COMITY_BROWSER=str(host.browser)) as server:
        report = server.capture(f"{host.url}/", urlPolicies=[{"pattern": "wss://*", "action": "deny"}])
    assert report["errorDetails"]["type"] == "policy"
    assert host.asked == [("GET", "/"), ("GET", "/a.js")]


@pytest.mark.parametrize(
    ("told", "denied", "refused"),
    [
        (True, None, False),
        (True, "wss://site.example/x", True),
        (True, "ws://site.example/x", False),
        (False, None, True),
    ],
    ids=["told-of-none", "told-of", "told-of-elsewhere", "not-told-in-time"],
)
async def test_socket_waits_for_what_the_page_tells(told: bool, denied: str | None, refused: bool) -> None:
    gate = SocketGate()

    async def all_told() -> bool:
        await asyncio.sleep(0)
        if denied is not None:
            gate.note_denied(denied)
        return told

    gate.watch(all_told)
    assert (await gate.refusal("site.example", 443) is not None) is refused
    refusal = asyncio.create_task(gate.refusal("site.example", 443))
    await asyncio.sleep(0)
    gate.rest()
    assert await refusal is not None, "what is still held is not let go by the end"
    late = await gate.refusal("site.example", 443)
    assert (late is not None) is (denied == "wss://site.example/x"), "what was on its way when the capture ended"
    gate.begin()
    assert await gate.refusal("site.example", 443) is None, "the next capture denied nothing"
