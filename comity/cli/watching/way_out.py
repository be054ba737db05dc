"""Where a worker in the foreground may connect to: what the stack beside it may visit, and what its options add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from comity.cli.allowance import FLAG, allowance, own_endpoints
from comity.polite.rules.literals import literal_address

if TYPE_CHECKING:
    from comity.cli.stack.state import StackState

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class WayOut:
    """Values of `COMITY_ALLOW_PRIVATE` and `COMITY_DENY`."""

    allow: str
    deny: str

    def told(self) -> str:
        """In words, for the worker's first line."""
        if not self.allow:
            return f"of the public web alone ({FLAG} HOST:PORT opens more)"
        return f"of the public web and {self.allow}"


def way_out(flags: Sequence[str] | None, ledger_url: str, stack: "StackState | None") -> WayOut:
    """Flags, environment and the running stack together; the parts of the stack are closed. Raises BadInput."""
    wanted = allowance(flags).text
    running = "" if stack is None else stack.allow_private
    entries = [entry.strip() for entry in f"{wanted},{running}".split(",")]
    allow = ",".join(dict.fromkeys(entry for entry in entries if entry))
    return WayOut(
        allow, own_endpoints(_endpoints({"ledger": ledger_url, **({} if stack is None else stack.addresses)}))
    )


def _endpoints(addresses: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Those with an address: the list takes no names."""
    found: dict[tuple[str, int], None] = {}
    for value in addresses.values():
        for url in [value] if isinstance(value, str) else value or ():
            parts = urlsplit(url)
            host = parts.hostname or ""
            if literal_address(host) is not None:
                found[host, parts.port or PORTS.get(parts.scheme, 80)] = None
    return list(found)
