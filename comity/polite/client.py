"""The way out to the web: one client for robots.txt, sitemaps, extraction and watching.

Addresses are judged at every connection and every redirect, sizes are counted while reading, each wait has a limit, no
environment variable and no jar colours a request. What a host does is a value, `Fetched` or `FetchFailure`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from importlib.metadata import version
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from comity.polite.answers import (
    BodySink,
    FetchCode,
    Fetched,
    FetchFailure,
    GetLimits,
    Headers,
    RedirectHook,
    Session,
)
from comity.polite.bodies import ACCEPT_ENCODING
from comity.polite.chains import MAX_BYTES as MAX_CERTIFICATE_BYTES
from comity.polite.chains import ChainCompleter
from comity.polite.connector import RIDE, GuardedConnector
from comity.polite.dialling import Dialler
from comity.polite.egress import Egress
from comity.polite.errors import (
    AddressRefusedError,
    ConnectFailedError,
    LookupFailedError,
    UserAgentError,
)
from comity.polite.fetch import FailedError, Fetch, cause_of
from comity.polite.rules.proxies import Proxy, ProxyRules, name_verdict
from comity.polite.rules.requests import BadRequestError, Outgoing, outgoing
from comity.polite.rules.robots import TOKEN
from comity.polite.rules.targets import BadUrlError, Target, target_of
from comity.polite.trust import TlsTrust, system_trust

__all__ = [
    "DEFAULT_USER_AGENT",
    "BodySink",
    "FetchCode",
    "FetchFailure",
    "Fetched",
    "GetLimits",
    "GuardedClient",
    "Headers",
    "RedirectHook",
    "Session",
    "check_user_agent",
]

DEFAULT_USER_AGENT = f"{TOKEN}/{version('comity')} (polite web capture)"
MAX_LINE_BYTES = 16 * 1024
MAX_HEADER_BYTES = 32 * 1024
"""Policies of 20 kB are on the web; aiohttp's own 8 kB are too few."""
MAX_HEADERS = 256
MAX_REASONS = 4096
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ISSUER_LIMITS = GetLimits(
    connect_ms=3_000,
    first_byte_ms=4_000,
    total_ms=5_000,
    max_raw_bytes=MAX_CERTIFICATE_BYTES,
    max_decoded_bytes=MAX_CERTIFICATE_BYTES,
    max_redirects=3,
)
_NO_SESSION = Session()
_log = logging.getLogger(__name__)


def check_user_agent(user_agent: str) -> None:
    """Raises UserAgentError where a robots.txt could not address it."""
    if TOKEN not in user_agent.lower() or not (user_agent.isascii() and user_agent.isprintable()):
        raise UserAgentError(user_agent, TOKEN)


class GuardedClient:
    """`async with GuardedClient(egress) as client: await client.get(url)`. Belongs to one event loop.

    At most `max_connections` fetches are under way; further ones wait. `trust` says whose certificates are believed
    (the system's roots), `proxies` which URLs go through a proxy (none): there only the host's name can be checked, and
    the log says so. Raises UserAgentError for a `user_agent` without the token `comity`.
    """

    def __init__(
        self,
        egress: Egress,
        *,
        user_agent: str = DEFAULT_USER_AGENT,
        trust: TlsTrust | None = None,
        proxies: ProxyRules | None = None,
        max_connections: int = 100,
    ) -> None:
        check_user_agent(user_agent)
        self._egress = egress
        self._user_agent = user_agent
        self._trust = trust or system_trust()
        self._proxies = proxies or ProxyRules()
        self._slots = asyncio.Semaphore(max_connections)
        self._reasons: dict[tuple[str, int, bool], str] = {}
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        completer = ChainCompleter(self._trust, self._issuer) if self._trust.complete else None
        self._http = aiohttp.ClientSession(
            connector=GuardedConnector(Dialler(self._egress, self._trust, completer)),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            max_headers=MAX_HEADERS,
        )
        # aiohttp would repeat any GET whose connection ends without an answer, but no host is asked twice unawares.
        # There is no parameter for it; aiohttp's own test client sets it like this.
        self._http._retry_connection = False
        for proxy in self._proxies.proxies:
            _log.info("the proxy %s looks names up itself: of what goes through it only the names are checked", proxy)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        session: Session | None = None,
        limits: GetLimits = GetLimits(),  # noqa: B008 - frozen
        on_redirect: RedirectHook | None = None,
        sink: BodySink | None = None,
    ) -> Fetched | FetchFailure:
        """Ask for `url`, following redirects, and read the body; any status is an answer.

        `headers` go with every request, `session` with the first. `on_redirect` may refuse where a redirect leads
        and the policy would go.
        `sink` takes the body piece by piece instead of `Fetched.body`. Raises only what `on_redirect` and `sink` raise,
        and cancellation, which hangs up.
        """
        async with self._slots:
            return await self._within(Fetch(url, limits, on_redirect, sink), headers or {}, session or _NO_SESSION)

    async def post(
        self,
        url: str,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        limits: GetLimits = GetLimits(),  # noqa: B008 - frozen
    ) -> Fetched | FetchFailure:
        """Send `body` to `url`, once; any status is an answer, redirects too: nobody else is sent what was for one."""
        async with self._slots:
            return await self._within(Fetch(url, limits, None, None, posted=body), headers or {}, _NO_SESSION)

    async def _issuer(self, url: str) -> bytes | None:
        """A certificate file, for a chain with a gap: within a fetch already, so it must not wait for a slot."""
        got = await self._within(Fetch(url, _ISSUER_LIMITS, _stay_plain, None), {}, _NO_SESSION)
        return got.body if isinstance(got, Fetched) and got.status == 200 else None

    async def _within(self, fetch: Fetch, headers: Mapping[str, str], session: Session) -> Fetched | FetchFailure:
        try:
            target = target_of(fetch.url)
            sent = outgoing(target, headers, session.headers, session.cookies)
        except BadUrlError as error:
            return fetch.failure("E_URL_INVALID", f"{fetch.url[:200]!r} {error}")
        except BadRequestError as error:
            return fetch.failure("E_HTTP_REQUEST", str(error))
        clock = asyncio.timeout(None)
        try:
            async with clock:
                fetch.start(clock)
                return await self._followed(fetch, target, sent)
        except FailedError as error:
            return fetch.failure(error.code, str(error))
        except TimeoutError:
            if not clock.expired():
                raise  # the caller's own, out of its hook or sink
            return fetch.failure("E_TIMEOUT", fetch.lateness)

    async def _followed(self, fetch: Fetch, target: Target, sent: Outgoing) -> Fetched:
        while True:
            fetch.ask(target)
            response = await self._answer(fetch, target, sent)
            fetch.status = response.status
            try:
                follows = fetch.posted is None and response.status in _REDIRECTS
                location = response.headers.get("Location") if follows else None
                if location is None:
                    return await fetch.read(response)
            except BaseException:
                response.close()
                raise
            response.release()
            before, target = target, fetch.redirected(target, location)
            if fetch.on_redirect is not None:  # asked after the policy, not instead of it
                await self._apply_policy(target)
                await fetch.ask_caller(before, target)
            fetch.redirects.append(before.url)
            sent = sent.after(before, target)

    async def _apply_policy(self, target: Target) -> None:
        """Whether the address may be visited, before anybody connects to it. Raises FailedError."""
        proxy = self._proxies.proxy_for(target.url) if self._proxies.rules else None
        self._judge(target, proxy)
        if proxy is None:
            try:
                await self._egress.addresses(target.host, target.port)
            except AddressRefusedError as error:
                raise FailedError("E_URL_POLICY", str(error)) from error
            except LookupFailedError as error:
                raise FailedError("E_TIMEOUT" if error.timed_out else "E_HTTP_FETCH", str(error)) from error

    async def _answer(self, fetch: Fetch, target: Target, sent: Outgoing) -> aiohttp.ClientResponse:
        """The head of the answer. Raises FailedError."""
        http = self._http
        if http is None:
            raise RuntimeError("GuardedClient is used outside of its `async with`")
        ride, headers, through = fetch.ride, sent.headers, None
        ride.proxy, ride.address = self._proxies.proxy_for(target.url) if self._proxies.rules else None, None
        if ride.proxy is not None:
            through = URL.build(scheme="http", host=ride.proxy.host, port=ride.proxy.port)
            if ride.proxy.authorization and target.scheme == "http":
                headers = {**headers, "proxy-authorization": ride.proxy.authorization}
        if ride.proxy is not None or target.literal is not None:
            self._judge(target, ride.proxy)
        token = RIDE.set(ride)
        try:
            try:
                response = await _ask(http, fetch, target, headers, through)
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                if ride.made or fetch.posted is not None:
                    raise
                # The connection was from the pool, and the host had closed it meanwhile.
                response = await _ask(http, fetch, target, headers, through)
        except AddressRefusedError as error:
            raise FailedError("E_URL_POLICY", str(error)) from error
        except (LookupFailedError, ConnectFailedError) as error:
            raise FailedError("E_TIMEOUT" if error.timed_out else "E_HTTP_FETCH", str(error)) from error
        # The promise is a value whatever a host does, and libraries below add kinds of errors of their own.
        except Exception as error:
            raise FailedError("E_HTTP_FETCH", f"{target.url[:200]}: {cause_of(error)}") from error
        finally:
            RIDE.reset(token)
        if ride.proxy is not None and response.status == 407:
            response.close()
            raise FailedError("E_HTTP_FETCH", f"the proxy {ride.proxy} does not let us through (407)")
        return response

    def _judge(self, target: Target, proxy: Proxy | None) -> None:
        """What can be told before a lookup. Raises FailedError."""
        key = (target.host, target.port, proxy is not None)
        reason = self._reasons.get(key)
        if reason is None:
            rules, (host, port, proxied) = self._egress.rules, key
            verdict = name_verdict(rules, host, port) if proxied else rules.of_host(host, port)
            reason = verdict.reason if verdict is not None and not verdict.allowed else ""
            if len(self._reasons) >= MAX_REASONS:
                self._reasons.clear()
            self._reasons[key] = reason
        if reason:
            raise FailedError("E_URL_POLICY", reason)


@lru_cache(maxsize=64)
def _timeout(connect_ms: int) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect_ms / 1000)


def _ask(
    http: aiohttp.ClientSession, fetch: Fetch, target: Target, headers: Mapping[str, str], through: URL | None
) -> Awaitable[aiohttp.ClientResponse]:
    return http.request(
        "GET" if fetch.posted is None else "POST",
        URL(target.url, encoded=True),
        data=fetch.posted,
        headers=headers,
        allow_redirects=False,
        proxy=through,
        timeout=_timeout(fetch.limits.connect_ms),
    )


def _stay_plain(_: str, target: str) -> str | None:
    """Issuers are fetched by plain http alone: https could need an issuer again."""
    return None if target.startswith("http://") else "an issuer's certificate is fetched by plain http"
