"""`python -m comity.capture`: one capture server, set by its environment (see `settings`).

Prints one line `{"listening": "http://…"}` on standard output when it takes requests; its log goes to standard error,
one JSON object a line.
Ends within 5 s on SIGTERM or SIGINT, and a capture under way is cancelled with its manifest written.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import uvicorn
from pydantic import ValidationError

from comity.capture import logs
from comity.capture.app import make_app
from comity.capture.browser import Browser
from comity.capture.build import this_build
from comity.capture.desk import Desk
from comity.capture.egress.guard import EgressGuard
from comity.capture.errors import CaptureFault
from comity.capture.memory import give_back_large_blocks, set_program_aside
from comity.capture.opening import Equipment
from comity.capture.package import software
from comity.capture.processes import NoBrowserError, find_browser
from comity.capture.scratch import own_scratch
from comity.capture.settings import Settings
from comity.capture.signing import Signing
from comity.capture.signing_settings import SigningSettingsError, read_signing
from comity.capture.spare import Spare
from comity.capture.store import Store, StoreUnusableError
from comity.capture.stores import read_store
from comity.polite.rules.addresses import EgressRules, egress_rules

END_BUDGET_S = 3


class Threads(ThreadPoolExecutor):
    """Those that work which blocks is done in. The server's end waits for none: one may wait for somebody else's server
    (a time stamp authority), longer than the end may take, and the process's end is theirs too (see `end`).
    """

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - the base's names
        super().shutdown(wait=False, cancel_futures=True)


class Server(uvicorn.Server):
    """Tells when it listens, and leaves signals to us."""

    url = ""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours, so that the capture under way is cancelled before connections are waited for."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Prints the address once requests are taken."""
        await super().startup(sockets=sockets)
        if not self.should_exit:
            print(json.dumps({"listening": self.url}), flush=True)


def listen(settings: Settings) -> socket.socket:
    """The server's socket. Raises OSError where address or port cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or each answer waits for Nagle's algorithm
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError:
        sock.close()
        raise
    return sock


async def serve(settings: Settings, store: Store, signing: Signing, executable: str, sock: socket.socket) -> None:
    """Serves until SIGTERM or SIGINT."""
    asyncio.get_running_loop().set_default_executor(Threads())
    await store.prepare()
    guard = EgressGuard(rules_for(settings, sock))
    await guard.start()
    browser = Browser(
        executable,
        proxy=guard.ports,
        recycle_captures=settings.recycle_captures,
        recycle_age_ms=settings.recycle_age_ms,
    )
    desk = Desk(
        Equipment(
            settings=settings,
            browser=browser,
            spare=Spare(browser),
            store=store,
            build=this_build(),
            egress=guard.book,
            sockets=guard.sockets,
            signing=signing,
        )
    )
    config = uvicorn.Config(
        make_app(desk),
        log_config=None,
        access_log=False,
        server_header=False,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=END_BUDGET_S,
        timeout_keep_alive=30,
    )
    server = Server(config)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    server.url = f"{'https' if settings.tls_cert else 'http'}://{host}:{sock.getsockname()[1]}"

    # One that cannot start a browser could only refuse every page: the reason is told here and now.
    await browser.ready()
    set_program_aside()

    def stop() -> None:
        server.should_exit = True
        desk.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        await server.serve(sockets=[sock])
    finally:
        await guard.end()


def rules_for(settings: Settings, sock: socket.socket) -> EgressRules:
    """Where pages may lead the browser. Never to this server itself, which listens on `sock`."""
    address, port = sock.getsockname()[:2]
    return egress_rules(settings.allow_private, settings.deny).closing([(address.partition("%")[0], port)])


def main() -> int:
    """Exit status: 0 after an orderly end, 1 where no browser starts, 2 where the settings do not allow a start."""
    logs.to_standard_error()
    give_back_large_blocks()
    try:
        settings = Settings()
        store = read_store(settings)
        signing = read_signing(software(this_build()))
        executable = find_browser(settings.browser)
        sock = listen(settings)
        with own_scratch():
            asyncio.run(serve(settings, store, signing, executable, sock))
    except ValidationError as error:
        for item in error.errors():
            place = ".".join(str(part) for part in item["loc"])
            name = f"CAPTURE_{place.upper()}: " if place and not place.startswith("COMITY") else ""
            print(f"capture: {name}{item['msg'].removeprefix('Value error, ')}", file=sys.stderr)
        return 2
    except (NoBrowserError, SigningSettingsError, StoreUnusableError) as error:
        print(f"capture: {error}", file=sys.stderr)
        return 2
    except CaptureFault as fault:
        print(f"capture: {fault}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"capture: cannot start: {error}", file=sys.stderr)
        return 2
    return 0


def end(status: int) -> NoReturn:
    """Ends the process with `status`, whatever still runs in it.

    The bucket's client has threads of its own that last as long as the process. One that calls into an interpreter that
    is being taken down aborts the process (status -6 instead of 2), so it is not taken down: `main` has closed what it
    opened, and what was said is flushed.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a reader that has gone, a stream that is closed
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    end(main())
