"""What every request passes before a route sees it: Host, Origin, token, right to the call.

And what no caller ever sees: a trace.
"""

import secrets
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger import log, metrics
from ledger.api import refusals
from ledger.errors import Foreign, LedgerRefusal, NoSuchMethod, NoSuchPath, Unauthenticated
from ledger.principal import Principal
from ledger.rules import rights
from ledger.services import archives
from ledger.services.identify import Identify

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class Guard:
    """ASGI middleware around the whole application. What `ledger.rules.rights` does not list is not served."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        identify: Identify,
        hosts: Iterable[str],
        open_metrics: bool,
        replay_origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._open_metrics = open_metrics
        self._identify = identify
        self._replay_origins = frozenset(replay_origins)
        self._hosts = {host.lower() for host in (*LOOPBACK_NAMES, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, arrived_s = False, 0, time.perf_counter()

        async def tell(message: Message) -> None:
            nonlocal began, status
            began = True
            status = message.get("status", status)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._refuse_foreign(scope["path"], headers)
            await self._let_in(scope, headers)
            await self._app(scope, receive, tell)
        except LedgerRefusal as refusal:
            await refusals.answer(refusal)(scope, receive, tell)
        except Exception as error:
            log_id = secrets.token_hex(6)
            log.failure("request_failed", error, log_id=log_id, method=scope["method"], path=scope["path"])
            if not began:
                body = refusals.plain(500, f"the ledger failed; its log tells more under {log_id}")
                await body(scope, receive, tell)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            metrics.request(scope["method"], route, status, time.perf_counter() - arrived_s)

    def _refuse_foreign(self, path: str, headers: Headers) -> None:
        host = headers.get("host", "")
        # A page elsewhere can point its own name at our address (DNS rebinding): then Host has that name.
        if _name(host) not in self._hosts:
            raise Foreign(
                "this ledger is not called by that Host; add the name to LEDGER_ALLOWED_HOSTS if it should be"
            )
        origin = headers.get("origin")
        reads_archive = origin in self._replay_origins and path.startswith(f"{archives.PATH}/")
        if origin is not None and _authority(origin) != host.lower() and not reads_archive:
            raise Foreign("requests from other sites' pages are refused (Origin)")

    async def _let_in(self, scope: Scope, headers: Headers) -> None:
        """Put the caller into the scope, where there is one. Raises Unauthenticated, NoSuchPath, NoSuchMethod."""
        path, method = scope["path"], scope["method"]
        methods = rights.rights_of(path)
        needed = methods.get(method, [])
        if rights.needs_no_token(needed) or (path == "/metrics" and needed and self._open_metrics):
            return
        if not needed and path != "/api" and not path.startswith("/api/"):
            raise NoSuchMethod(method, path) if methods else NoSuchPath(path)
        caller = await self._caller(headers)
        scope.setdefault("state", {}).update(principal=caller, subject=caller.subject)
        if "\0" in path:  # no row has one in its name, and databases take none
            raise NoSuchPath(path.replace("\0", "\\0"))
        if rights.may(caller.role, needed):
            return
        if not needed and any(rights.may(caller.role, of_method) for of_method in methods.values()):
            raise NoSuchMethod(method, path)
        raise NoSuchPath(path)

    async def _caller(self, headers: Headers) -> Principal:
        token = bearer(headers)
        caller = await self._identify.principal_of(token) if token else None
        if caller is None:
            raise Unauthenticated
        return caller


def bearer(headers: Headers) -> str | None:
    """The token that the request shows (RFC 6750), or None."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _authority(origin: str) -> str:
    """Host and port of an Origin header, lower case; empty for `null` and for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The name in a Host header, without its port, lower case; empty where it has none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
