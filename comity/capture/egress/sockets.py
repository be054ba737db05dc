"""Denied WebSockets: they are stopped before they connect, because the browser offers no other place to stop them.

The browser is told to send WebSockets through a port of their own, whatever connections it has (over HTTP/2, RFC 8441,
a handshake would else be one more stream among the page's requests). Each connection that is asked for there is held
until the page and all its frames and workers have told what they had to tell: a socket is told of before it connects,
and so the denied one is known by then.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from comity.capture.egress.book import PORTS, Key, key_of

Denies = Callable[[str], bool]
AllTold = Callable[[], Awaitable[bool]]


class SocketGate:
    """One per server. Open while nobody watches: `watch` begins a capture whose policies may deny sockets."""

    def __init__(self) -> None:
        self._all_told: AllTold | None = None
        self._denied: set[Key] = set()

    def begin(self) -> None:
        """Another capture begins, and denies nothing unless `watch` follows."""
        self._all_told = None
        self._denied.clear()

    def watch(self, all_told: AllTold) -> None:
        """From now on connections are judged. `all_told` waits until every target of the page has told what it began
        before the call, and is False where one did not in its budget."""
        self._all_told = all_told
        self._denied.clear()

    def rest(self) -> None:
        """The capture is over. What it denied stays so until the next one: its last socket may still be on its way."""
        self._all_told = None

    def note_denied(self, url: str) -> None:
        """The browser told of a denied socket. The page fails for it: nothing more of its sockets goes there."""
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
        if parts.hostname and port:
            self._denied.add(key_of(parts.hostname, port))

    async def refusal(self, host: str, port: int) -> str | None:
        """Why no WebSocket may be connected there now; None: it may."""
        all_told = self._all_told
        if all_told is None:
            return f"a WebSocket to {host}:{port} was denied" if key_of(host, port) in self._denied else None
        told = await all_told()
        if self._all_told is not all_told:
            return "the capture that asked for it is over"
        if key_of(host, port) in self._denied:
            return f"a WebSocket to {host}:{port} is denied"
        return None if told else f"whose WebSocket to {host}:{port} it is was not told in time"
