"""Sending one message: by a signed POST through the guarded way out, or by Apprise. What comes of it is a value."""

import asyncio
import json
import threading
from collections.abc import Mapping, Set
from concurrent.futures import CancelledError
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from comity.contract.watch_telling import ChannelKind, Told, ToldEvent, Tried, WebhookBody
from comity.polite.answers import FetchFailure, GetLimits
from comity.polite.client import GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.proxies import ProxyRules
from comity.polite.rules.retry_after import retry_after_ms
from comity.polite.trust import TlsTrust
from comity.watch.page_files.pages import why_not_watched
from comity.watch.rules.webhook import headers
from ledger.clock import Clock
from ledger.errors import BadInput
from ledger.rules.apprise_services import PUBLIC_SERVICES
from ledger.store.models_telling import WatchChannel

if TYPE_CHECKING:
    import apprise

LIMITS = GetLimits(
    total_ms=15_000, max_raw_bytes=64 * 1024, max_decoded_bytes=64 * 1024, max_redirects=0, truncate=True
)
BUDGET_S = 30.0
"""For one message, whatever it goes by: Apprise has services that try several servers."""
BODY_LINES = 30
HAPPENED = {
    "changed": ("{title} has changed", "{count} pages have changed"),
    "failing": ("{title} cannot be read any more", "{count} pages cannot be read any more"),
    "recovered": ("{title} can be read again", "{count} pages can be read again"),
    "test": ("This is a test", "This is a test"),
}


@dataclass(frozen=True, slots=True)
class Sending:
    """A message that is to go out: its id is the same in every try. `count` events in all, the first of them given."""

    message_id: str
    kind: str
    count: int
    events: tuple[ToldEvent, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """`problem` is None where it was taken. `gone`: nobody listens there any more (410), nor will."""

    problem: str | None = None
    gone: bool = False
    retry_after: timedelta | None = None


class Deliverer:
    """Sends, from any thread; each call waits for its outcome, `BUDGET_S` at most."""

    def __init__(
        self,
        rules: EgressRules,
        clock: Clock,
        *,
        services: Set[str] = frozenset(PUBLIC_SERVICES),
        trust: TlsTrust | None = None,
        proxies: ProxyRules | None = None,
    ) -> None:
        self._rules = rules
        self._trust = trust
        self._proxies = proxies
        self._clock = clock
        self._services = services
        self._lock = threading.Lock()
        self._posting: _Posting | None = None

    def check(self, kind: ChannelKind, target: str) -> None:
        """Raises BadInput for a target that nothing can be sent to."""
        if kind == "webhook":
            reason = why_not_watched(target)
            if reason is not None:
                raise BadInput.at("target", reason)
            parts = urlsplit(target)
            verdict = self._rules.of_host(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
            if verdict is not None and not verdict.allowed:
                raise BadInput.at("target", verdict.reason)
            return
        scheme = target.partition("://")[0].lower()
        if scheme not in self._services:
            allowed = ", ".join(sorted(self._services))
            raise BadInput.at(
                "target", f"{scheme[:40]!r} is none of the services that this deployment sends to: {allowed}"
            )
        if not _apprise(target):
            raise BadInput.at("target", f"Apprise does not take this {scheme}:// URL; see its page of the service")

    def send(self, channel: WatchChannel, sending: Sending) -> Sent:
        """Send it now."""
        if channel.kind == "apprise":
            return self._by_apprise(channel, sending)
        return self._by_webhook(channel, sending)

    def test(self, channel: WatchChannel) -> Tried:
        """Send a message that is plainly a test."""
        now = self._clock()
        event = ToldEvent(
            event_id="e0", page_id="w0", url="https://example.org/", title="A test", at=now, diff="+It works\n"
        )
        sent = self.send(channel, Sending(f"test-{channel.id}-{int(now.timestamp())}", "test", 1, (event,)))
        return Tried(sent=sent.problem is None, problem=sent.problem)

    def close(self) -> None:
        """End what goes on in the background."""
        with self._lock:
            posting, self._posting = self._posting, None
        if posting is not None:
            posting.end()

    def _by_webhook(self, channel: WatchChannel, sending: Sending) -> Sent:
        now = self._clock()
        body = json.dumps(
            WebhookBody(
                type=f"watch.{sending.kind}",
                timestamp=now,
                channel=channel.id,
                data=Told(count=sending.count, events=list(sending.events)),
            ).to_wire(),
            ensure_ascii=False,
        ).encode()
        secrets = [channel.secret or b""]
        if channel.old_secret is not None and channel.old_secret_until is not None and channel.old_secret_until > now:
            secrets.append(channel.old_secret)
        signed = headers(sending.message_id, body, at=now, secrets=tuple(secrets))
        return self._way_out().post(channel.target, body, {**signed, "content-type": "application/json"}, now)

    def _way_out(self) -> "_Posting":
        with self._lock:
            if self._posting is None:
                self._posting = _Posting(self._rules, self._trust, self._proxies)
            return self._posting

    def _by_apprise(self, channel: WatchChannel, sending: Sending) -> Sent:
        one, many = HAPPENED[sending.kind]
        title = (one if sending.count == 1 else many).format(title=sending.events[0].title, count=sending.count)
        outcome: list[Sent] = []
        # A daemon: a service that hangs keeps nobody, and the process may end without it.
        work = threading.Thread(
            target=lambda: outcome.append(_notify(channel.target, " ".join(title.split())[:250], _words(sending))),
            name="apprise",
            daemon=True,
        )
        work.start()
        work.join(BUDGET_S)
        return outcome[0] if outcome else Sent(f"the service did not answer within {BUDGET_S:g} s")


class _Posting:
    """A guarded client on an event loop of its own, for callers in threads."""

    def __init__(self, rules: EgressRules, trust: TlsTrust | None, proxies: ProxyRules | None) -> None:
        self._rules = rules
        self._trust = trust
        self._proxies = proxies
        self._loop = asyncio.new_event_loop()
        self._client: GuardedClient | None = None
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def post(self, url: str, body: bytes, sent: Mapping[str, str], now: datetime) -> Sent:
        """Blocks until it is known what came of it."""
        future = asyncio.run_coroutine_threadsafe(self._post(url, body, sent, now), self._loop)
        try:
            return future.result(BUDGET_S)
        except (TimeoutError, CancelledError):
            future.cancel()
            return Sent(f"not taken within {BUDGET_S:g} s")

    def end(self) -> None:
        """Hang up and let the thread end."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        self._thread.join(5)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def _close(self) -> None:
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
        self._loop.stop()

    async def _post(self, url: str, body: bytes, sent: Mapping[str, str], now: datetime) -> Sent:
        if self._client is None:
            client = GuardedClient(Egress(self._rules), trust=self._trust, proxies=self._proxies)
            self._client = await client.__aenter__()
        got = await self._client.post(url, body, headers=sent, limits=LIMITS)
        if isinstance(got, FetchFailure):
            return Sent(got.message)
        if 200 <= got.status < 300:
            return Sent()
        if 300 <= got.status < 400:
            return Sent(f"HTTP {got.status}: webhooks follow no redirects; give the address that it leads to")
        asked = retry_after_ms(got.headers.get("Retry-After"), now=now)
        wait = None if asked is None else timedelta(milliseconds=asked)
        return Sent(f"HTTP {got.status}", gone=got.status == 410, retry_after=wait)


def _apprise(target: str) -> "apprise.Apprise | None":
    import apprise  # noqa: PLC0415 - it loads a hundred services, which a ledger that tells by none of them need not

    found = apprise.Apprise(asset=apprise.AppriseAsset(app_id="Comity", async_mode=False))
    return found if found.add(target) else None


def _notify(target: str, title: str, body: str) -> Sent:
    try:
        found = _apprise(target)
        if found is None:
            return Sent("Apprise does not take the target's URL any more")
        return Sent() if found.notify(title=title, body=body) else Sent("the service did not take the message")
    except Exception as error:  # a service's module may raise what it likes
        return Sent(f"the service failed: {type(error).__name__}")


def _words(sending: Sending) -> str:
    """A message for people."""
    lines: list[str] = []
    for event in sending.events:
        lines += [event.title, event.url] if sending.count > 1 else [event.url]
        if event.problem:
            lines.append(event.problem)
        if sending.count == 1 and event.diff:
            diff = event.diff.splitlines()
            lines += ["", *diff[:BODY_LINES]]
            if len(diff) > BODY_LINES:
                lines.append(f"… and {len(diff) - BODY_LINES} lines more")
    if sending.count > len(sending.events):
        lines.append(f"… and {sending.count - len(sending.events)} more")
    return "\n".join(lines)
