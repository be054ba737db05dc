"""`python -m comity.tscompile`: serve until SIGTERM or SIGINT.

The first line on stdout is `{"listening": "http://127.0.0.1:NNN"}`; everything else goes to stderr. Exits 0 when told
to stop, 2 when the settings or the compiler do not let it start.
"""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import sys
from collections.abc import Iterator

import uvicorn
from pydantic import ValidationError

from comity.tscompile.app import create_app
from comity.tscompile.compiler import Compiler
from comity.tscompile.errors import CacheUnusable, CompilerBroken, CompilerMissing
from comity.tscompile.settings import Settings

GRACE_S = 3
"""What a check in flight may still take after SIGTERM; then it is cancelled, and all is over within 5 s."""


class _Server(uvicorn.Server):
    """Says where it listens once it does, and ends quietly on a signal instead of raising it again."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            print(json.dumps({"listening": self._address}), flush=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


async def serve(settings: Settings) -> None:
    """Serves until a signal. Raises CacheUnusable, CompilerMissing, CompilerBroken or OSError."""
    compiler = await Compiler.start(settings)
    listener = _listen(settings)
    config = uvicorn.Config(
        create_app(settings, compiler),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )
    with listener:
        await _Server(config, _address(settings, listener)).serve([listener])


def _listen(settings: Settings) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise OSError(
            error.errno,
            f"cannot listen on TSCOMPILE_HOST={settings.host} TSCOMPILE_PORT={settings.port}: {error.strerror}",
        ) from error
    return listener


def _address(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.tls_cert else 'http'}://{host}:{listener.getsockname()[1]}"


def main() -> int:
    """The exit status."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s tscompile: %(message)s"
    )
    try:
        asyncio.run(serve(Settings()))
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            setting = "".join(f"TSCOMPILE_{str(part).upper()}: " for part in problem["loc"][:1])
            print(f"tscompile: {setting}{problem['msg'].removeprefix('Value error, ')}", file=sys.stderr)
        return 2
    except (CacheUnusable, CompilerMissing, CompilerBroken) as error:
        print(f"tscompile: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tscompile: {error.strerror or error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
