"""Connections to judged addresses, TLS included. Nothing of this room gets a socket in any other way.

An address is judged by `Egress`, dialled by number (there is no second lookup that could answer otherwise), and the
socket's peer is judged again once it stands, before a byte is sent.
"""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TypeVar

import aiohappyeyeballs

from comity.polite.chains import ChainCompleter
from comity.polite.egress import Egress
from comity.polite.errors import AddressRefusedError, ConnectFailedError
from comity.polite.rules.addresses import authority
from comity.polite.rules.proxies import Proxy, name_verdict
from comity.polite.rules.special_purpose import Address
from comity.polite.trust import TlsTrust

SECOND_TRY_S = 0.25
"""RFC 8305, section 5: after so long without a connection the next address is tried beside it."""
TLS_FAREWELL_S = 2.0
MAX_PROXY_HEAD_BYTES = 16 * 1024
_HEAD_END = b"\r\n\r\n"
_PROXY_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
_MISSING_ISSUER = frozenset({2, 20, 21})
"""OpenSSL's UNABLE_TO_GET_ISSUER_CERT, UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNABLE_TO_VERIFY_LEAF_SIGNATURE."""

ProtocolT = TypeVar("ProtocolT", bound=asyncio.Protocol)


@dataclass(frozen=True, slots=True)
class Way:
    """Where a connection is to lead, and how. `host` is ASCII: a name, or an address without brackets."""

    host: str
    port: int
    tls: bool = False
    proxy: Proxy | None = None
    budget_s: float | None = None
    """For the connection with proxy and TLS; looking up has its own."""

    def __str__(self) -> str:
        return authority(self.host, self.port) + (f" through the proxy {self.proxy}" if self.proxy else "")

    @property
    def server_name(self) -> str:
        """Whom the certificate must name; certificates have names without the dot of the root."""
        return self.host.removesuffix(".")


class Dialler:
    """Makes connections. Belongs to one event loop."""

    def __init__(self, egress: Egress, trust: TlsTrust, completer: ChainCompleter | None) -> None:
        self._egress = egress
        self._proxy_egress = egress.for_proxies()
        self._trust = trust
        self._completer = completer

    async def connect(self, way: Way, factory: Callable[[], ProtocolT]) -> tuple[ProtocolT, Address | None]:
        """The connection's protocol, and the address that it leads to; None behind a proxy.

        Raises AddressRefusedError, LookupFailedError, ConnectFailedError.
        """
        if not way.tls:
            return await self._stood_up(way, factory, None)
        if not self._trust.ready:
            await asyncio.to_thread(self._trust.context)
        try:
            return await self._stood_up(way, factory, self._trust.context())
        except ConnectFailedError as error:
            if not await self._completed(way, error.__cause__):
                raise
        return await self._stood_up(way, factory, self._trust.context())

    async def _stood_up(
        self, way: Way, factory: Callable[[], ProtocolT], context: ssl.SSLContext | None
    ) -> tuple[ProtocolT, Address | None]:
        async with self._socket(way) as (sock, address):
            loop = asyncio.get_running_loop()
            if context is None:
                _, protocol = await loop.create_connection(factory, sock=sock)
            else:
                _, protocol = await loop.create_connection(
                    factory,
                    sock=sock,
                    ssl=context,
                    server_hostname=way.server_name,
                    ssl_shutdown_timeout=TLS_FAREWELL_S,
                )
        return protocol, address

    async def _completed(self, way: Way, cause: BaseException | None) -> bool:
        """Whether that failure was a chain with a gap, and the gap is filled now."""
        if self._completer is None or not isinstance(cause, ssl.SSLCertVerificationError):
            return False
        if cause.verify_code not in _MISSING_ISSUER:
            return False
        return await self._completer.complete(await self._certificate(way))

    async def _certificate(self, way: Way) -> bytes:
        """The server's own certificate, read in a handshake after which nothing is sent.

        It is believed by nobody: it only says where its issuer's certificate is. OpenSSL keeps none of a handshake that
        failed, so that a second one is needed.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        protocol, _ = await self._stood_up(way, _Onlooker, context)
        return protocol.certificate

    @contextlib.asynccontextmanager
    async def _socket(self, way: Way) -> AsyncIterator[tuple[socket.socket, Address | None]]:
        """A connected socket within the way's budget, the block's work included; closed where that fails."""
        egress, host, port = self._egress, way.host, way.port
        if way.proxy is not None:
            verdict = name_verdict(egress.rules, host, port)
            if not verdict.allowed:
                raise AddressRefusedError(verdict)
            egress, host, port = self._proxy_egress, way.proxy.host, way.proxy.port
        addresses = await egress.addresses(host, port)
        sock: socket.socket | None = None
        clock = asyncio.timeout(way.budget_s)
        try:
            async with clock:
                sock = await aiohappyeyeballs.start_connection(
                    [_address_info(address, port) for address in addresses],
                    happy_eyeballs_delay=SECOND_TRY_S,
                    interleave=1,
                )
                peer = ip_address(str(sock.getpeername()[0]).partition("%")[0])
                verdict = egress.rules.of_address(peer, port, host=host)
                if not verdict.allowed:
                    raise AddressRefusedError(verdict)
                if way.proxy is not None and way.tls:
                    await _tunnel(sock, way, way.proxy)
                yield sock, None if way.proxy else peer
        except BaseException as error:
            if sock is not None:
                sock.close()
            if isinstance(error, TimeoutError) and clock.expired():
                budget_ms = round((way.budget_s or 0) * 1000)
                raise ConnectFailedError(str(way), f"no connection within {budget_ms} ms", timed_out=True) from error
            if isinstance(error, OSError):
                raise ConnectFailedError(str(way), f"{type(error).__name__}: {error}") from error
            raise


class _Onlooker(asyncio.Protocol):
    """Reads the peer's certificate, and hangs up."""

    certificate: bytes = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        seen = transport.get_extra_info("ssl_object")
        self.certificate = (seen.getpeercert(binary_form=True) if seen is not None else None) or b""
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()


def _address_info(address: Address, port: int) -> aiohappyeyeballs.AddrInfoType:
    if address.version == 6:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(address), port))


async def _tunnel(sock: socket.socket, way: Way, proxy: Proxy) -> None:
    """CONNECT (RFC 9110, section 9.3.6): after it the socket leads to the host. Raises OSError that says why not."""
    there = authority(way.host, way.port)
    lines = [f"CONNECT {there} HTTP/1.1", f"Host: {there}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode("ascii"))
    head = b""
    while _HEAD_END not in head:
        block = await loop.sock_recv(sock, 4096)
        if not block or len(head) > MAX_PROXY_HEAD_BYTES:
            raise ConnectionError("the proxy does not answer in HTTP")
        head += block
    status = _PROXY_STATUS.match(head)
    if status is None or not status[1].startswith(b"2"):
        raise ConnectionError(f"the proxy answers {head[:60].splitlines()[0].decode('ascii', 'replace')!r} to CONNECT")
    if not head.endswith(_HEAD_END):
        raise ConnectionError("the proxy speaks before the host can have")
