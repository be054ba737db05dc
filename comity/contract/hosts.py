"""Wire models of the host gate: who may visit a host now, and after which wait."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StrictBool, StrictInt, Tag

from comity.contract.ledger import MAX_HOST_DELAY_MS
from comity.contract.wire import Answer, Request

HOST_LEASED = "host-leased"
LEASE_LOST = "lease-lost"
"""Codes of the gate's 409."""

MAX_REST_MS = 2**31 - 1
"""The longest Retry-After that can be told, 24.8 days; who was told a longer one says this."""

DelayMs = Annotated[StrictInt, Field(ge=0, le=MAX_HOST_DELAY_MS)]
LeaseId = Annotated[str, Field(min_length=1, max_length=32)]


class CrawlHolder(Request):
    """A run of one level of a crawl. `runId`, where it is given, must be the run that holds the level."""

    kind: Literal["crawl"] = "crawl"
    crawl_id: Annotated[str, Field(min_length=1, max_length=32)]
    depth: Annotated[StrictInt, Field(ge=0, le=1000)]
    attempt: Annotated[StrictInt, Field(ge=1, le=1_000_000)]
    run_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class WatchHolder(Request):
    """A watcher's job that needs another host than its own for a moment: a redirect leads there.

    `token` is the job's. Its own host the job holds already.
    """

    kind: Literal["watch"]
    token: Annotated[str, Field(min_length=1, max_length=32)]


def _kind(value: Any) -> Any:
    """A holder that does not say its kind is a crawl's, as all were once."""
    return value.get("kind", "crawl") if isinstance(value, dict) else getattr(value, "kind", None)


HostHolder = Annotated[
    Annotated[CrawlHolder, Tag("crawl")] | Annotated[WatchHolder, Tag("watch")], Discriminator(_kind)
]
"""Who holds a host, told apart by `kind`."""


class LeaseHost(Request):
    """`POST /api/hosts/lease`. `host` is a URL authority as work orders name it.

    `delayMs` is the gap that the holder promises. `crawlDelayMs` is what the host's robots.txt asks for, 0 where it
    asks for none; left out where it was not asked. The gate remembers it, and holds others to it too.
    """

    host: Annotated[str, Field(min_length=1, max_length=2048)]
    holder: HostHolder
    delay_ms: DelayMs
    crawl_delay_ms: DelayMs | None = None


class HostLease(Answer):
    """The host is the holder's. It may be visited once, `waitMs` after this answer.

    `gapMs` is the gap that this wait keeps: the longest of `delayMs`, the host's crawl-delay, and a rest that it asked
    for. The lease ends after `expiresInMs` unless it is renewed.
    """

    lease_id: str
    wait_ms: int
    gap_ms: int
    expires_in_ms: int


class HostLeased(Answer):
    """409 of the gate. `stop`: the holder's work is over. Else ask again after `retryAfterMs`."""

    error: str
    code: str
    retry_after_ms: int
    stop: bool


class RenewLease(Request):
    """`POST /api/hosts/renew`."""

    lease_id: LeaseId


class LeaseRenewed(Answer):
    expires_in_ms: int


class ReleaseLease(Request):
    """`POST /api/hosts/release`. The host counts as touched now, unless `visited` is false: nothing was sent to it.

    `retryAfterMs`: the host asked for this much rest, and gets it from everybody.
    """

    lease_id: LeaseId
    retry_after_ms: Annotated[StrictInt, Field(ge=0, le=MAX_REST_MS)] | None = None
    visited: StrictBool = True


class LeaseReleased(Answer):
    """`released` is false where the lease had ended before, by time or by another's turn."""

    released: bool
