"""Getting a program's page: one GET through the guarded way out, or one page of a browser."""

import asyncio
import contextlib
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from comity.extract.run.execution import cancelled
from comity.extract.run.failures import Failure, RunError
from comity.extract.run.options import USER_AGENT, Cancellation, ExtractOptions
from comity.polite.answers import Fetched, FetchFailure, GetLimits
from comity.polite.charset import decode_html
from comity.polite.egress import Egress
from comity.polite.errors import UserAgentError
from comity.polite.rules.addresses import EgressRules, egress_rules
from comity.polite.rules.proxies import BadProxyRulesError, proxies_of
from comity.polite.trust import BadTrustError, trust_of

if TYPE_CHECKING:
    from comity.polite.client import GuardedClient

PATH = "source.fetch"
MOST_CONNECT_MS = 10_000
LOOK_EVERY_S = 0.05
"""How soon a wait for a page notices that it was cancelled."""
PORTS = {"http": 80, "https": 443}
EVERYWHERE = "0.0.0.0/0,::/0"
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Visit:
    """One page to get: where, with what, until when by the monotonic clock."""

    url: str
    takes_session: bool
    options: ExtractOptions
    deadline_s: float

    @property
    def left_ms(self) -> int:
        """Milliseconds until the deadline; at least 1, so that what asks for a positive number gets one."""
        return max(1, round((self.deadline_s - time.monotonic()) * 1000))


def egress_of(*, allow_private_hosts: bool) -> EgressRules:
    """The public web, or, where a caller asks for it, everything but what is never visited."""
    return egress_rules(EVERYWHERE) if allow_private_hosts else EgressRules()


def open_client(*, allow_private_hosts: bool = False, user_agent: str | None = None) -> "GuardedClient":
    """A client for `ExtractOptions.client`: enter it, use it in one event loop for many extractions, leave it.

    Certificates and proxies are the environment's. Raises BadTrustError or BadProxyRulesError naming the setting.
    """
    return _open(Egress(egress_of(allow_private_hosts=allow_private_hosts)), user_agent)


def _open(egress: Egress, user_agent: str | None) -> "GuardedClient":
    # Who compiles or reads snapshots needs no HTTP client, and would wait a third longer for our import with it.
    from comity.polite.client import GuardedClient  # noqa: PLC0415

    trust, proxies = trust_of(os.environ), proxies_of(os.environ)
    return GuardedClient(egress, user_agent=user_agent or USER_AGENT, trust=trust, proxies=proxies)


def _client(egress: Egress, user_agent: str | None) -> "GuardedClient":
    try:
        return _open(egress, user_agent)
    except (UserAgentError, BadTrustError, BadProxyRulesError) as error:
        raise RunError("E_HTTP_REQUEST", str(error), PATH) from None


async def http_page(visit: Visit) -> str:
    """The page as text. Raises RunError with an E_URL, E_HTTP, E_HTML or E_TIMEOUT code, and CharsetError."""
    options = visit.options
    async with contextlib.AsyncExitStack() as stack:
        client = options.client
        if client is None:
            egress = Egress(egress_of(allow_private_hosts=options.allow_private_hosts))
            client = await stack.enter_async_context(_client(egress, options.user_agent))
        asked = client.get(
            visit.url,
            session=options.session if visit.takes_session else None,
            limits=GetLimits(
                connect_ms=min(MOST_CONNECT_MS, visit.left_ms),
                first_byte_ms=visit.left_ms,
                total_ms=visit.left_ms,
                max_raw_bytes=options.max_page_bytes,
                max_decoded_bytes=options.max_page_bytes,
            ),
            on_redirect=options.on_redirect,
        )
        answer = await _unless_cancelled(asked, options.cancellation)
    page = _accepted(answer)
    return decode_html(page.body, page.headers.get("content-type"))


async def browser_page(visit: Visit) -> str:
    """The page as a browser shows it. Raises RunError."""
    options = visit.options
    _check_policy(visit)
    assert options.browser is not None  # the preflight has refused the others
    loading = options.browser.load(visit.url, timeout_ms=visit.left_ms)
    page = await _unless_cancelled(loading, options.cancellation)
    if isinstance(page, Failure):
        raise RunError(page.code, page.message, page.path or PATH)
    return page


def _accepted(answer: Fetched | FetchFailure) -> Fetched:
    if isinstance(answer, FetchFailure):
        raise RunError(str(answer.code), answer.message, PATH)
    if not 200 <= answer.status < 300:
        raise RunError("E_HTTP_STATUS", f"{answer.final_url} answered {answer.status}; only 2xx has a page", PATH)
    return answer


async def _unless_cancelled(doing: Coroutine[Any, Any, Answer], cancellation: Cancellation | None) -> Answer:
    """The outcome; HaltedError (E_EXECUTION_CANCELED) soon after the caller has cancelled."""
    if cancellation is None:
        return await doing
    task = asyncio.ensure_future(doing)
    try:
        while not task.done():
            if cancellation.is_set():
                raise cancelled(PATH)
            await asyncio.wait((task,), timeout=LOOK_EVERY_S)
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _check_policy(visit: Visit) -> None:
    """What the URL alone tells; the browser's own guard judges the addresses that names lead to."""
    parts = urlsplit(visit.url)
    port = parts.port or PORTS[parts.scheme]
    rules = egress_of(allow_private_hosts=visit.options.allow_private_hosts)
    verdict = rules.of_host(parts.hostname or "", port)
    if verdict is not None and not verdict.allowed:
        raise RunError("E_URL_POLICY", verdict.reason, PATH)
