"""aiohttp's requests over connections that were judged.

aiohttp's own connector asks its resolver for names only, so that a guard in there would never see
`http://169.254.169.254/`. This one has no other way to a connection than `Dialler`. What waits in the pool for the next
request was judged when it was made, and leads where it led then.
"""

import asyncio
import functools
from contextvars import ContextVar
from dataclasses import dataclass

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from comity.polite.dialling import Dialler, Way
from comity.polite.errors import ConnectFailedError
from comity.polite.rules.proxies import Proxy

KEEPALIVE_S = 15.0
"""An idle connection is kept for so long: over the rest between two visits to a host, which is seconds."""


@dataclass(slots=True)
class Ride:
    """What one request says and learns about the connection that it rides on."""

    proxy: Proxy | None = None
    made: bool = False
    """The connection was made for it, not taken from the pool."""
    address: str | None = None


RIDE: ContextVar[Ride] = ContextVar("comity-polite-ride")
"""Set around each request. aiohttp hands its connector the request alone."""


class _Judged(ResponseHandler):
    """A connection that knows where it leads."""

    address: str | None = None


class GuardedConnector(aiohttp.BaseConnector):
    """HTTP/1.1 over judged connections. `sock_connect` of a request's timeout limits the making of each."""

    allowed_protocol_schema_set = frozenset({"http", "https"})

    def __init__(self, dialler: Dialler) -> None:
        super().__init__(limit=0, keepalive_timeout=KEEPALIVE_S)
        self._dialler = dialler

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """From the pool, or a new one. Raises AddressRefusedError, LookupFailedError, ConnectFailedError."""
        ride = RIDE.get()
        ride.made = False
        connection = await super().connect(req, traces, timeout)
        ride.address = getattr(connection.protocol, "address", None)
        return connection

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],  # noqa: ARG002 - the base class hands them over
        timeout: aiohttp.ClientTimeout,
    ) -> ResponseHandler:
        ride = RIDE.get()
        host, port = req.url.raw_host, req.url.port
        if host is None or port is None:
            raise ConnectFailedError(str(req.url), "it names no host")
        ride.made = True
        way = Way(host, port, tls=req.is_ssl(), proxy=ride.proxy, budget_s=timeout.sock_connect)
        loop = asyncio.get_running_loop()
        protocol, address = await self._dialler.connect(way, functools.partial(_Judged, loop=loop))
        protocol.address = None if address is None else str(address)
        return protocol
