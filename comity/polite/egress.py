"""The way out: names are looked up here, every address is judged, and connections go to the address that was judged.

Whoever connects asks for `addresses` and connects to one of them by number. There is no second lookup in between that
could answer otherwise (DNS rebinding).
"""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from comity.polite.errors import AddressRefusedError, LookupFailedError
from comity.polite.rules.addresses import (
    ALLOW_SETTING,
    DENY_SETTING,
    LOCALHOST,
    AddressList,
    AddressVerdict,
    EgressRules,
    egress_rules,
)
from comity.polite.rules.literals import canonical_host, is_loopback_name, literal_address
from comity.polite.rules.special_purpose import Address

LOOKUP_BUDGET_S = 10.0
"""The C library asks two name servers twice, 5 s each; what takes longer than 10 s seldom answers at all."""
KEPT_S = 30.0
"""An answer serves for so long: a page's parts come over a handful of connections to each host."""
MAX_KEPT = 2048
MAX_LOOKUPS = 32
MAX_ADDRESSES = 8

_ANYWHERE = EgressRules(allow=AddressList(networks=(ip_network("0.0.0.0/0"), ip_network("::/0"))))

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Addresses of a name as text, best first. Raises OSError."""


async def system_lookup(host: str) -> Sequence[str]:
    """The system's own resolver, in a thread that nobody waits for at the end: it cannot be interrupted."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(result: list[str] | OSError) -> None:
        if found.done():
            return
        if isinstance(result, OSError):
            found.set_exception(result)
        else:
            found.set_result(result)

    def work() -> None:
        result: list[str] | OSError
        try:
            result = [str(item[4][0]) for item in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        except OSError as error:
            result = error
        except UnicodeError as error:  # a label that is empty or too long
            result = OSError(str(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result)

    threading.Thread(target=work, name="lookup", daemon=True).start()
    return await found


@dataclass(slots=True)
class _Kept:
    """A lookup under way or done. `expires_s` by the monotonic clock."""

    task: "asyncio.Task[tuple[Address, ...]]"
    expires_s: float


class Egress:
    """Rules and a resolver. Belongs to one event loop."""

    def __init__(
        self,
        rules: EgressRules,
        *,
        lookup: Lookup = system_lookup,
        kept_s: float = KEPT_S,
        budget_s: float = LOOKUP_BUDGET_S,
    ) -> None:
        self.rules = rules
        self._lookup = lookup
        self._kept_s = kept_s
        self._budget_s = budget_s
        self._kept: dict[str, _Kept] = {}
        self._gate = asyncio.Semaphore(MAX_LOOKUPS)

    def for_proxies(self) -> "Egress":
        """The same resolver under rules that open all but metadata addresses: an operator's proxies may be anywhere."""
        return Egress(_ANYWHERE, lookup=self._lookup, kept_s=self._kept_s, budget_s=self._budget_s)

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Where a connection to `host` may go, best first, never empty.

        Raises AddressRefusedError where nothing of it may be visited, LookupFailedError where it has no address.
        """
        verdict = self.rules.of_host(host, port)
        if verdict is not None and not verdict.allowed:
            raise AddressRefusedError(verdict)
        verdicts = [self.rules.of_address(address, port, host=host) for address in await self._candidates(host)]
        allowed = [_address(verdict) for verdict in verdicts if verdict.allowed]
        if not allowed:
            raise AddressRefusedError(verdicts[0])
        return tuple(allowed)

    async def _candidates(self, host: str) -> Sequence[Address]:
        literal = literal_address(host)
        if literal is not None:
            return (literal,)
        return LOCALHOST if is_loopback_name(host) else await self._looked_up(canonical_host(host))

    async def _looked_up(self, name: str) -> tuple[Address, ...]:
        now_s = time.monotonic()
        kept = self._kept.get(name)
        if kept is None or now_s >= kept.expires_s:
            self._forget(now_s)
            kept = _Kept(asyncio.create_task(self._ask(name)), now_s + max(self._kept_s, 0))
            kept.task.add_done_callback(_retrieve)
            self._kept[name] = kept
        try:
            # Shielded: others wait for the same answer.
            return await asyncio.shield(kept.task)
        except LookupFailedError:
            if self._kept.get(name) is kept:
                del self._kept[name]  # a failure is asked about again
            raise

    def _forget(self, now_s: float) -> None:
        if len(self._kept) >= MAX_KEPT:
            self._kept = {name: kept for name, kept in self._kept.items() if now_s < kept.expires_s}
        while len(self._kept) >= MAX_KEPT:
            del self._kept[next(iter(self._kept))]

    async def _ask(self, name: str) -> tuple[Address, ...]:
        try:
            async with asyncio.timeout(self._budget_s), self._gate:
                texts = await self._lookup(name)
        except TimeoutError:
            raise LookupFailedError(name, f"no answer within {self._budget_s:g} s", timed_out=True) from None
        except OSError as error:
            raise LookupFailedError(name, error.strerror or str(error)) from None
        found = tuple(dict.fromkeys(ip_address(text.partition("%")[0]) for text in texts))[:MAX_ADDRESSES]
        if not found:
            raise LookupFailedError(name, "it has no address")
        return found


def _retrieve(task: "asyncio.Task[tuple[Address, ...]]") -> None:
    """Whoever waited has been told; without anybody left waiting the failure is no news either."""
    if not task.cancelled():
        task.exception()


def _address(verdict: AddressVerdict) -> Address:
    return ip_address(verdict.address or "")


def rules_of(environment: Mapping[str, str]) -> EgressRules:
    """The rules that `COMITY_ALLOW_PRIVATE` and `COMITY_DENY` set. Raises BadAddressListError, naming the setting."""
    return egress_rules(environment.get(ALLOW_SETTING, ""), environment.get(DENY_SETTING, ""))
