"""From a host to an open connection: judged, tried address by address, and named when it fails."""

import asyncio
import errno
from collections.abc import Sequence
from dataclasses import dataclass

from comity.capture.egress.book import Book, Refused, Unreached
from comity.polite.egress import Egress
from comity.polite.errors import AddressRefusedError, LookupFailedError
from comity.polite.rules.special_purpose import Address

ATTEMPT_BUDGET_S = 4.0
"""For each address but the last, which gets what is left."""
CONNECT_BUDGET_S = 30.0
"""For all addresses of one connection."""
BUFFER_BYTES = 64 * 1024

ERRORS = {
    errno.ECONNREFUSED: "net::ERR_CONNECTION_REFUSED",
    errno.ECONNRESET: "net::ERR_CONNECTION_RESET",
    errno.ECONNABORTED: "net::ERR_CONNECTION_ABORTED",
    errno.ETIMEDOUT: "net::ERR_CONNECTION_TIMED_OUT",
    errno.ENETUNREACH: "net::ERR_ADDRESS_UNREACHABLE",
    errno.EHOSTUNREACH: "net::ERR_ADDRESS_UNREACHABLE",
    errno.EADDRNOTAVAIL: "net::ERR_ADDRESS_INVALID",
    errno.EACCES: "net::ERR_NETWORK_ACCESS_DENIED",
    errno.EPERM: "net::ERR_NETWORK_ACCESS_DENIED",
}
"""How the browser would name what the system says."""


@dataclass(frozen=True, slots=True)
class Reached:
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def reach(egress: Egress, book: Book, host: str, port: int) -> Reached | Refused | Unreached:
    """Connects, and notes in `book` what came of it."""
    try:
        addresses = await egress.addresses(host, port)
    except AddressRefusedError as error:
        outcome: Refused | Unreached = Refused(error.verdict)
    except LookupFailedError as error:
        name = "net::ERR_DNS_TIMED_OUT" if error.timed_out else "net::ERR_NAME_NOT_RESOLVED"
        outcome = Unreached(name, str(error))
    else:
        # The one that answered before first: what the archive says of an address is then true of all its connections.
        before = book.last_address(host, port)
        ordered = sorted(addresses, key=lambda address: address != before)
        found = await _first(ordered, port, asyncio.get_running_loop().time() + CONNECT_BUDGET_S)
        if isinstance(found, tuple):
            address, reached = found
            book.note_reached(host, port, address)
            return reached
        outcome = found
    book.note_failed(host, port, outcome)
    return outcome


async def _first(addresses: Sequence[Address], port: int, ends_s: float) -> tuple[Address, Reached] | Unreached:
    failure = Unreached("net::ERR_CONNECTION_FAILED", "no address")
    for place, address in enumerate(addresses):
        left_s = ends_s - asyncio.get_running_loop().time()
        budget_s = left_s if place == len(addresses) - 1 else min(left_s, ATTEMPT_BUDGET_S)
        try:
            async with asyncio.timeout(budget_s):
                return address, Reached(*await asyncio.open_connection(str(address), port, limit=BUFFER_BYTES))
        except TimeoutError:
            failure = Unreached("net::ERR_CONNECTION_TIMED_OUT", f"{address} did not answer within {budget_s:.0f} s")
        except OSError as error:
            failure = Unreached(ERRORS.get(error.errno or 0, "net::ERR_CONNECTION_FAILED"), f"{address}: {error}")
    return failure
