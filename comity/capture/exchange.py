"""One request and its response as the browser's events tell them, hop by hop, until they can become records.

The same request may be told by several sessions (a frame that swaps its process is told by two): the first that tells
it owns it. The exact headers come as events of their own, before or after; the n-th of them belongs to the n-th hop
that has any.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from comity.archive.warc import Payload
from comity.capture.cdp import Params, Session
from comity.capture.large_body import release

if TYPE_CHECKING:
    from comity.capture.bodies import BodyStream

STREAMS = frozenset({"EventSource", "WebSocket"})
"""Connections that stay open by design; they hold no page back."""
LARGE_BYTES = 4 * 1024 * 1024
MOST_UNPACKED = 1032
"""What a byte of deflate can become (RFC 1951)."""


@dataclass(slots=True)
class Hop:
    """A request and what answered it. All but the last hop of a chain were redirected."""

    request: Params
    date: datetime
    kind: str
    frame_id: str | None = None
    response: Params | None = None
    has_exact: bool = False
    exact_request: Params | None = None
    exact_response: Params | None = None
    written: bool = False
    """Whether it has its records, or is known to get none."""

    @property
    def url(self) -> str:
        """What was asked for, without its fragment."""
        return str(self.request["url"])

    @property
    def method(self) -> str:
        """GET, POST..."""
        return str(self.request["method"])

    @property
    def request_headers(self) -> dict[str, str]:
        """What was asked with, exact where the browser told it so."""
        named = (self.exact_request or self.request).get("headers", {})
        return {str(name): str(value) for name, value in named.items()}

    @property
    def status(self) -> int | None:
        """The status as it came over the wire: a 304 is told only there; the browser shows the 200 it kept."""
        if self.exact_response is not None:
            return int(self.exact_response["statusCode"])
        return None if self.response is None else int(self.response["status"])

    @property
    def content_type(self) -> str:
        """The response's `Content-Type` as served, else empty."""
        return header_of(self.response_headers, "content-type") or ""

    @property
    def response_headers(self) -> dict[str, str]:
        """The response's headers, exact where the browser told them so."""
        source = self.exact_response or self.response or {}
        return dict(source.get("headers", {}))


@dataclass(slots=True)
class Chain:
    """All hops of one request id."""

    request_id: str
    owner: Session
    sessions: list[Session]
    hops: list[Hop] = field(default_factory=list)
    exact_requests: dict[str | None, list[Params]] = field(default_factory=dict)
    exact_responses: dict[str | None, list[Params]] = field(default_factory=dict)
    received_bytes: int = 0
    """Of its body, decoded, as far as that was told while it came: nothing where the page takes it as a `Blob`."""
    sent_bytes: int = 0
    """Of all of its last hop, as it came over the wire; told at its end."""
    counted_by: str | None = None
    over_limit: bool = False
    from_cache: bool = False
    ended: bool = False
    error: str = ""
    """The browser's reason why it ended without its whole response."""
    given_body: Payload | None = None
    stream: "BodyStream | None" = None
    """Its body, where that is taken while it comes."""
    told: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at each event with exact headers."""

    @property
    def last(self) -> Hop:
        """The hop in progress."""
        return self.hops[-1]

    @property
    def counts(self) -> bool:
        """Whether the page still waits for this request."""
        return bool(self.hops) and not self.ended and self.last.kind not in STREAMS

    @property
    def may_be_large(self) -> bool:
        """Whether its body may be longer than what the browser hands over in no time."""
        if self.received_bytes > 0:
            return self.received_bytes > LARGE_BYTES
        packed = header_of(self.last.response_headers, "content-encoding") is not None
        return self.sent_bytes * (MOST_UNPACKED if packed else 1) > LARGE_BYTES

    @property
    def lacks_exact(self) -> bool:
        """Whether exact headers that the browser promised have not come yet."""
        wanted = sum(hop.has_exact for hop in self.hops)
        return max((len(told) for told in self.exact_responses.values()), default=0) < wanted

    def release(self) -> None:
        """Its body is not needed any more."""
        release(self.given_body)
        if self.stream is not None:
            self.stream.drop()

    def settle_hop(self, response: Params, *, has_exact: bool) -> None:
        """The last hop's response is known."""
        if self.last.response is None:
            self.last.response = response
            self.last.has_exact = has_exact

    def join_exact(self) -> None:
        """Gives each hop the exact headers that belong to it."""
        exact_requests = self._told(self.exact_requests)
        exact_responses = self._told(self.exact_responses)
        position = 0
        for hop in self.hops:
            if not hop.has_exact and hop.response is not None:
                continue
            if position < len(exact_requests):
                hop.exact_request = exact_requests[position]
            if position < len(exact_responses):
                hop.exact_response = exact_responses[position]
            position += 1

    def _told(self, by_session: dict[str | None, list[Params]]) -> list[Params]:
        """The owner's list, unless another session told more."""
        lists = [by_session.get(self.owner.session_id, []), *by_session.values()]
        return max(lists, key=len)


def hop_of(params: Params) -> Hop:
    """A hop from `Network.requestWillBeSent`."""
    return Hop(
        request=params["request"],
        date=datetime.fromtimestamp(params["wallTime"], UTC),
        kind=params.get("type", "Other"),
        frame_id=params.get("frameId"),
    )


def paused_hop(params: Params) -> Hop:
    """A hop from `Fetch.requestPaused` at the response, for requests that no network event tells of."""
    headers: dict[str, str] = {}
    for item in params.get("responseHeaders", []):
        name, value = item["name"], item["value"]
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    response = {
        "url": params["request"]["url"],
        "status": params["responseStatusCode"],
        "statusText": params.get("responseStatusText", ""),
        "headers": headers,
    }
    return Hop(
        request=params["request"],
        date=datetime.now(UTC),
        kind="Download",
        frame_id=params.get("frameId"),
        response=response,
    )


def header_of(headers: dict[str, Any], name: str) -> str | None:
    """A header's value by its name in any case."""
    wanted = name.lower()
    return next((str(value) for key, value in headers.items() if key.lower() == wanted), None)
