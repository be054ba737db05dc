"""`python -m ledger`: read settings, look at the schema, listen. With a command: `migrate`, `backup FILE`, `prune`."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from comity.polite.egress import rules_of
from comity.polite.rules.addresses import BadAddressListError
from comity.polite.rules.proxies import BadProxyRulesError, proxies_of
from comity.polite.trust import BadTrustError, trust_of
from ledger import commands, log
from ledger.app import create_app
from ledger.artifacts.s3_settings import read_s3_settings
from ledger.errors import SettingsRefused
from ledger.parts import Parts, assemble
from ledger.settings import Settings, read_settings
from ledger.store.database import Store
from ledger.store.migrate import require_current
from ledger.tokens import load_or_make

SHUTDOWN_S = 3
"""Requests in flight get this long; the whole end takes under 5 s."""

KEEP_ALIVE_S = 75
"""Longer than any client of ours keeps an idle connection, so that none is closed while a request is on its way."""

CATALOGUE = Path(__file__).parent / "catalogue"


class _Server(uvicorn.Server):
    """Says where it listens, once it does: the first line on stdout, and the only one. Its end is the streams' end."""

    def __init__(self, config: uvicorn.Config, parts: Parts) -> None:
        super().__init__(config)
        self._parts = parts

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            scheme = "https" if self.config.is_ssl else "http"
            name = f"[{host}]" if ":" in host else host
            print(json.dumps({"listening": f"{scheme}://{name}:{port}"}), flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._parts.follows.end_all()
        await super().shutdown(sockets)


def prepare(settings: Settings) -> Parts:
    """Folders, tokens, schema, shipped scripts. Raises SettingsRefused."""
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.artifact_root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsRefused(f"LEDGER_DATA or LEDGER_ARTIFACT_ROOT cannot be made: {error}") from None
    s3 = read_s3_settings()
    try:
        egress, trust, proxies = rules_of(os.environ), trust_of(os.environ), proxies_of(os.environ)
    except (BadAddressListError, BadProxyRulesError, BadTrustError) as error:
        raise SettingsRefused(str(error)) from None
    tokens = load_or_make(settings.data / "tokens")
    store = Store(settings.store_url)
    require_current(store, may_migrate=settings.migrate_at_start)
    parts = assemble(settings, store, tokens, s3=s3, egress=egress, trust=trust, proxies=proxies)
    parts.scripts.ship(CATALOGUE)
    parts.sink.sweep()
    return parts


def listen(settings: Settings) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises SettingsRefused."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(*found[:3])  # with its protocol named, or each answer waits 40 ms for Nagle's algorithm
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(found[4])
    except OSError as error:
        raise SettingsRefused(
            f"LEDGER_HOST, LEDGER_PORT: cannot listen on {settings.host}:{settings.port}: {error}"
        ) from None
    return bound


def main(arguments: Sequence[str] = ()) -> int:
    """Run until SIGTERM or SIGINT, or do the command. 0 when it ended well, 2 when it would not start."""
    os.umask(0o077)  # database, tokens and log files are the owner's alone
    if arguments:
        return commands.run(arguments)
    log.to_stderr()
    try:
        settings = read_settings()
        parts = prepare(settings)
        bound = listen(settings)
    except SettingsRefused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    config = uvicorn.Config(
        create_app(parts),
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=SHUTDOWN_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        lifespan="on",
        ws="none",
    )
    # uvicorn handles both signals while it serves, and raises them once more when it is done.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_Server(config, parts).serve(sockets=[bound]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
