"""What goes into a fetch and what comes out of it: plain values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from multidict import CIMultiDictProxy

FetchCode = Literal[
    "E_URL_INVALID",
    "E_URL_POLICY",
    "E_HTTP_REQUEST",
    "E_HTTP_FETCH",
    "E_HTTP_READ",
    "E_HTTP_BODY_TOO_LARGE",
    "E_TIMEOUT",
]
"""E_URL_INVALID: no request can be made of the URL. E_URL_POLICY: it may not be visited, or a redirect of it not
followed. E_HTTP_REQUEST: what the caller wants sent cannot be sent. E_HTTP_FETCH: no answer came (no address, no
connection, no valid certificate, too many redirects). E_HTTP_READ: an answer came and its body did not, or not whole.
E_HTTP_BODY_TOO_LARGE and E_TIMEOUT: a limit of `GetLimits`.
"""


@dataclass(frozen=True, slots=True)
class GetLimits:
    """How much one fetch may take, redirects included. Waiting for one of the client's connections does not count."""

    connect_ms: int = 5_000
    """For each connection, TLS included; looking the name up has a limit of its own (10 s)."""
    first_byte_ms: int = 10_000
    """For each answer's head, from the moment of asking, connecting included."""
    total_ms: int = 30_000
    """For everything."""
    max_raw_bytes: int = 32 * 2**20
    """Of the body as it was sent, packed or not."""
    max_decoded_bytes: int = 32 * 2**20
    """Of the body unpacked."""
    max_redirects: int = 10
    truncate: bool = False
    """A body over a limit is cut there (`Fetched.truncated`) instead of refused."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who the caller is to a site. Goes with the first request only; of all headers just `Authorization` and `Cookie`
    go along with a redirect, to the same domain and its subdomains, and never from https to http.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)


class Headers:
    """An answer's headers in the order they came; names in any case."""

    __slots__ = ("_items",)

    def __init__(self, items: "CIMultiDictProxy[str]") -> None:
        self._items = items

    def get(self, name: str, default: str | None = None) -> str | None:
        """The first value of that name."""
        return self._items.get(name, default)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Every value of that name."""
        return tuple(self._items.getall(name, ()))

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All of them, names as they were sent."""
        return tuple(self._items.items())

    def __contains__(self, name: str) -> bool:
        return name in self._items

    def __repr__(self) -> str:
        return f"Headers({self.pairs()!r})"


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer, whatever its status."""

    url: str
    """As it was asked for."""
    final_url: str
    """Where the answer came from, after redirects; without fragment."""
    status: int
    headers: Headers
    body: bytes = field(repr=False)
    """Decoded. Empty where a `BodySink` took it."""
    truncated: bool
    """There was more than the limits took, or than the sink wanted."""
    redirects: tuple[str, ...]
    """The URLs that led on, each but the last with the next: `url` first, `final_url` not among them."""
    raw_bytes: int
    """Of the body, as far as it was taken from the wire."""
    address: str | None
    """Of the host that answered; None behind a proxy."""


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """Why there is no answer. `message` is one line for people."""

    code: FetchCode
    message: str
    url: str
    final_url: str = ""
    """How far it came; empty where nothing was asked."""
    redirects: tuple[str, ...] = ()
    status: int | None = None
    """Of the answer whose body failed."""


class BodySink(Protocol):
    """Takes a body as it comes, instead of having it kept in memory."""

    def begin(self, status: int, headers: Headers) -> bool:
        """The final answer's head. False: its body is not wanted, and the fetch is over."""

    def feed(self, piece: bytes) -> bool:
        """The next decoded bytes, at most 64 KiB. False: no more is wanted."""


RedirectHook = Callable[[str, str], str | Awaitable[str | None] | None]
"""Asked before a redirect is followed, after the policy: where from, where to. A text is why not: E_URL_POLICY."""
