"""The real browser behind the guard: names that change their mind, and nothing that goes around."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from comity.capture.browser import Browser
from comity.capture.cdp import Session
from comity.capture.egress.guard import EgressGuard
from comity.capture.processes import find_browser
from comity.polite.rules.addresses import egress_rules
from tests.integration.capture.listener import Listener
from tests.integration.capture.server import until
from tests.site.fixture import FixtureSite
from tests.site.wire import html

pytestmark = pytest.mark.browser


class Page:
    """A page in a browser of its own, behind a guard."""

    def __init__(self, session: Session, guard: EgressGuard) -> None:
        self.session = session
        self.guard = guard

    async def go(self, url: str) -> str:
        """The browser's error, empty where the page came."""
        return str((await self.session.call("Page.navigate", {"url": url})).get("errorText", ""))

    async def run(self, expression: str) -> Any:
        """A promise's value."""
        told = await self.session.call(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        return told["result"].get("value")


@contextlib.asynccontextmanager
async def browsing(allow: str, *lookups: Sequence[str]) -> AsyncIterator[Page]:
    answers = list(lookups)

    async def lookup(_: str) -> Sequence[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    guard = EgressGuard(egress_rules(allow), lookup=lookup, kept_s=0)
    await guard.start()
    browser = Browser(find_browser(None), proxy=guard.ports, recycle_captures=100, recycle_age_ms=3_600_000)
    try:
        root = (await browser.ready()).root
        target = await root.call("Target.createTarget", {"url": "about:blank"})
        attached = await root.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        assert browser.connection is not None
        page = Page(browser.connection.session(attached["sessionId"]), guard)
        await page.session.call("Network.enable")
        yield page
    finally:
        await browser.end()
        await guard.end()


async def test_name_that_turns_inward_is_refused_at_its_next_connection() -> None:
    with Listener("127.0.0.2") as outside, Listener("127.0.0.3", outside.port) as inside:
        url = f"http://rebinding.example:{outside.port}"
        async with browsing(outside.authority, ["127.0.0.2"], ["127.0.0.3"]) as page:
            assert await page.go(f"{url}/first") == ""
            assert outside.paths >= {"/first"}
            assert await page.run(f"fetch('{url}/second').then(() => 'came', () => 'refused')") == "refused"
            assert await page.go(f"{url}/third") == "net::ERR_SOCKS_CONNECTION_FAILED"
            assert inside.connections == 0
        async with browsing(f"{outside.authority},{inside.authority}", ["127.0.0.2"], ["127.0.0.3"]) as page:
            assert await page.go(f"{url}/first") == ""
            assert await page.run(f"fetch('{url}/second').then(() => 'came', () => 'refused')") == "came"
            assert inside.paths == {"/second"}


WEBRTC = """new Promise(done => {{
  const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{at}'}},
    {{urls: 'turn:{at}?transport=udp', username: 'a', credential: 'b'}},
    {{urls: 'turn:{at}?transport=tcp', username: 'a', credential: 'b'}}]}});
  const found = [];
  peer.onicecandidate = event => event.candidate ? found.push(event.candidate.candidate) : done(found);
  peer.createDataChannel('x');
  peer.createOffer().then(offer => peer.setLocalDescription(offer));
}})"""


async def test_webrtc_sends_nothing_around_the_guard() -> None:
    with FixtureSite(hosts=1) as site, Listener("127.0.0.5") as tcp, _udp("127.0.0.5", tcp.port) as udp:
        site.set("/peer", html("<!doctype html><title>peer</title>"))
        async with browsing(site.hosts[0], ["127.0.0.1"]) as page:
            assert await page.go(site.url(0, "/peer")) == ""
            assert await asyncio.wait_for(page.run(WEBRTC.format(at=tcp.authority)), 15) == []
            assert not until(lambda: _heard(udp), 0.3)
        assert tcp.connections == 0


@contextlib.contextmanager
def _udp(address: str, port: int) -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        sock.setblocking(False)
        yield sock


def _heard(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(2048))
    except BlockingIOError:
        return False
