"""Listens on a loopback port of its own and tunnels what may pass."""

import asyncio
import contextlib
import logging

from comity.capture.egress.book import Book, Refused, Unreached
from comity.capture.egress.ports import ProxyPorts
from comity.capture.egress.reach import BUFFER_BYTES, Reached, reach
from comity.capture.egress.sockets import SocketGate
from comity.capture.egress.socks import BadHandshakeError, Reply, read_target, reply_bytes
from comity.capture.egress.tunnel import carry
from comity.polite.egress import KEPT_S, Egress, Lookup, system_lookup
from comity.polite.rules.addresses import EgressRules

HOST = "127.0.0.1"
HANDSHAKE_BUDGET_S = 5.0
MAX_CONNECTIONS = 1024
BACKLOG = 512
"""A page of many hosts connects all at once: beyond the backlog the kernel lets a connection wait a whole second."""
UNREACHED = {
    "net::ERR_CONNECTION_REFUSED": Reply.REFUSED,
    "net::ERR_ADDRESS_UNREACHABLE": Reply.HOST_UNREACHABLE,
    "net::ERR_NAME_NOT_RESOLVED": Reply.HOST_UNREACHABLE,
}
log = logging.getLogger(__name__)


class EgressGuard:
    """`start`, then point the browser at `ports`; `end` at last. `book` says what became of its connections, `sockets`
    stops denied WebSockets.

    `rules` decide; its own ports are closed too. `lookup` finds the addresses of names, which are kept for `kept_s`.
    """

    def __init__(self, rules: EgressRules, *, lookup: Lookup = system_lookup, kept_s: float = KEPT_S) -> None:
        self._rules = rules
        self._lookup = lookup
        self._kept_s = kept_s
        self._egress: Egress | None = None
        self._servers: tuple[asyncio.Server, ...] = ()
        self._connections: set[asyncio.Task[None]] = set()
        self.book = Book()
        self.sockets = SocketGate()

    @property
    def ports(self) -> ProxyPorts:
        """Where it listens. Raises RuntimeError before `start`."""
        if not self._servers:
            raise RuntimeError("the egress guard does not listen yet")
        return ProxyPorts(*(int(server.sockets[0].getsockname()[1]) for server in self._servers))

    async def start(self) -> None:
        """Listens. Raises OSError."""
        self._servers = (await self._listen(for_sockets=False), await self._listen(for_sockets=True))
        own = [(HOST, port) for port in (self.ports.pages, self.ports.sockets)]
        self._egress = Egress(self._rules.closing(own), lookup=self._lookup, kept_s=self._kept_s)
        for server in self._servers:
            await server.start_serving()

    async def _listen(self, *, for_sockets: bool) -> asyncio.Server:
        return await asyncio.start_server(
            lambda reader, writer: self._accept(reader, writer, for_sockets),
            HOST,
            0,
            limit=BUFFER_BYTES,
            backlog=BACKLOG,
            start_serving=False,
        )

    async def end(self) -> None:
        """Breaks every connection off. Safe to call again."""
        servers, self._servers = self._servers, ()
        for server in servers:
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, for_sockets: bool) -> None:
        if self._egress is None or len(self._connections) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        serving = self._serve(self._egress, reader, writer, for_sockets)
        task = asyncio.get_running_loop().create_task(serving, name="egress")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(
        self, egress: Egress, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, for_sockets: bool
    ) -> None:
        with contextlib.closing(writer):
            try:
                async with asyncio.timeout(HANDSHAKE_BUDGET_S):
                    target = await read_target(reader, writer)
            except BadHandshakeError as error:
                log.warning("something that is not our browser spoke to the egress guard: %s", error)
                writer.write(error.reply)
                return
            except (TimeoutError, OSError, asyncio.IncompleteReadError):
                return
            if for_sockets and (refusal := await self.sockets.refusal(target.host, target.port)):
                log.info("refused: %s", refusal)
                writer.write(reply_bytes(Reply.NOT_ALLOWED))
                return
            found = await reach(egress, self.book, target.host, target.port)
            if isinstance(found, Reached):
                with contextlib.closing(found.writer):
                    writer.write(reply_bytes(Reply.SUCCEEDED))
                    await carry((reader, writer), (found.reader, found.writer))
                return
            writer.write(reply_bytes(_reply(found)))
            if isinstance(found, Refused):
                log.info("refused: %s", found.verdict.reason)


def _reply(outcome: Refused | Unreached) -> Reply:
    if isinstance(outcome, Refused):
        return Reply.NOT_ALLOWED
    return UNREACHED.get(outcome.error, Reply.FAILED)
