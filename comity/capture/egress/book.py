"""What became of the connections that the browser asked for, by host and port.

The browser sees only the proxy: its `remoteIPAddress` is ours, and a connection that fails is `SOCKS_CONNECTION_FAILED`
whatever the cause. What really happened is kept here.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from comity.polite.rules.addresses import AddressVerdict
from comity.polite.rules.literals import BadHostError, canonical_host, literal_address
from comity.polite.rules.special_purpose import Address

MAX_HOSTS = 4096
PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

Key = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refused:
    """No address of the host may be visited; `verdict.reason` says why and what would open it."""

    verdict: AddressVerdict


@dataclass(frozen=True, slots=True)
class Unreached:
    """Nobody took the connection. `error` is the browser's own name for that, had it tried itself."""

    error: str
    detail: str


class Book:
    """Bounded: the hosts asked for last."""

    def __init__(self) -> None:
        self._reached: OrderedDict[Key, Address] = OrderedDict()
        self._failed: OrderedDict[Key, Refused | Unreached] = OrderedDict()
        self.refusals = 0
        """Connections refused since the last `begin`."""

    def begin(self) -> None:
        """A new capture: failures are asked about again."""
        self._failed.clear()
        self.refusals = 0

    def note_reached(self, host: str, port: int, address: Address) -> None:
        """A connection to that host stands."""
        key = key_of(host, port)
        self._failed.pop(key, None)
        _put(self._reached, key, address)

    def note_failed(self, host: str, port: int, outcome: Refused | Unreached) -> None:
        """There is no connection, and why."""
        self.refusals += isinstance(outcome, Refused)
        _put(self._failed, key_of(host, port), outcome)

    def last_address(self, host: str, port: int) -> Address | None:
        """Where the last connection to that host went."""
        return self._reached.get(key_of(host, port))

    def address_of(self, url: str) -> str | None:
        """The address that answered for this URL's host; None where no connection went there."""
        key = _key_of_url(url)
        address = self._reached.get(key) if key else None
        return None if address is None else str(address)

    def failure_of(self, url: str) -> Refused | Unreached | None:
        """Why there is no connection to this URL's host; None where there is one, or nobody asked."""
        key = _key_of_url(url)
        return self._failed.get(key) if key else None


def key_of(host: str, port: int) -> Key:
    """Host and port in one spelling, whether from a URL or from a request to the proxy."""
    try:
        address = literal_address(host)
    except BadHostError:
        address = None
    return canonical_host(host) if address is None else str(address), port


def _key_of_url(url: str) -> Key | None:
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
        host = parts.hostname
    except ValueError:
        return None
    return key_of(host, port) if host and port else None


def _put(table: OrderedDict[Key, T], key: Key, value: T) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > MAX_HOSTS:
        table.popitem(last=False)
