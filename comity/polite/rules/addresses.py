"""Where the browser and the robots client may connect to. Pure: addresses in, verdicts out.

Public addresses are open. Everything else (loopback, private networks, ...) is closed, unless `COMITY_ALLOW_PRIVATE`
opens it. What the stack itself listens on (`COMITY_DENY`) and where clouds hand out credentials stays closed whatever
is allowed: a page that gets there could read the crawl's own secrets.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_network
from typing import Literal

from comity.polite.rules.literals import BadHostError, canonical_host, is_loopback_name, literal_address
from comity.polite.rules.special_purpose import LOOPBACK, METADATA, Address, Network, Special, carried_by, special_of

ALLOW_SETTING = "COMITY_ALLOW_PRIVATE"
DENY_SETTING = "COMITY_DENY"
MAX_PORT = 65535

Rule = Literal["public", "allowed", "special", "denied", "metadata", "bad-host"]


class BadAddressListError(ValueError):
    """An entry of one of the two settings cannot be understood. Names setting and entry."""

    def __init__(self, setting: str, entry: str, why: str) -> None:
        super().__init__(
            f"{setting}: {entry!r} {why}; write host:port, [IPv6]:port, an address or a range such as 10.0.0.0/8, "
            "separated by commas"
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One port of one host: an address in any spelling, or a name as it is asked for."""

    host: Address | str
    port: int


@dataclass(frozen=True, slots=True)
class AddressList:
    """What one of the settings says."""

    networks: tuple[Network, ...] = ()
    endpoints: frozenset[Endpoint] = frozenset()

    def holds(self, address: Address, port: int) -> bool:
        """Whether the address lies in a range of the list, or it and the port are one of its endpoints."""
        return Endpoint(address, port) in self.endpoints or any(address in network for network in self.networks)

    def names(self, host: str, port: int) -> bool:
        """Whether the list has this name with this port."""
        return Endpoint(canonical_host(host), port) in self.endpoints


@dataclass(frozen=True, slots=True)
class AddressVerdict:
    """May a connection go there? `reason` says why not, and which setting would open it if one does."""

    allowed: bool
    rule: Rule
    host: str
    port: int
    address: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EgressRules:
    """Both settings together. Without any: the public web, and nothing else."""

    allow: AddressList = field(default_factory=AddressList)
    deny: AddressList = field(default_factory=AddressList)

    def closing(self, own: Iterable[tuple[str, int]]) -> "EgressRules":
        """The same rules with further endpoints (address, port) that are never visited. Raises BadAddressListError."""
        more = parse_list(",".join(authority(host, port) for host, port in own), DENY_SETTING, names=False)
        return EgressRules(self.allow, AddressList(self.deny.networks, self.deny.endpoints | more.endpoints))

    def of_host(self, host: str, port: int) -> AddressVerdict | None:
        """The verdict on a host before any lookup: of a literal, of `localhost`. None: a name; look it up, and ask
        `of_address` about each address that was found.
        """
        try:
            address = literal_address(host)
        except BadHostError as error:
            return AddressVerdict(False, "bad-host", host, port, reason=str(error))
        if address is not None:
            return self.of_address(address, port, host=host)
        if is_loopback_name(host):
            return self._of_localhost(host, port)
        return None

    def of_address(self, address: Address, port: int, *, host: str | None = None) -> AddressVerdict:
        """The verdict on an address; `host` is how it was asked for, a name or a spelling."""
        address = plain(address)
        shown = host or str(address)
        line = f"{shown}:{port} is refused: " if host in (None, str(address)) else f"{shown}:{port} is {address}: "
        carried = carried_by(address) if isinstance(address, IPv6Address) else ()
        for each in (address, *carried):
            if each in METADATA:
                reason = f"{line}{METADATA[each]}, which is never visited"
                return AddressVerdict(False, "metadata", shown, port, str(address), reason)
            if self._denies(each, port):
                reason = f"{line}this deployment's own or closed by {DENY_SETTING}, which is never visited"
                return AddressVerdict(False, "denied", shown, port, str(address), reason)
        special = special_of(address)
        if special is None:
            return AddressVerdict(True, "public", shown, port, str(address))
        if self.allow.holds(address, port) or (host is not None and self.allow.names(host, port)):
            return AddressVerdict(True, "allowed", shown, port, str(address))
        return AddressVerdict(False, "special", shown, port, str(address), f"{line}{closed(special, address, port)}")

    def _of_localhost(self, host: str, port: int) -> AddressVerdict:
        found = [self.of_address(address, port, host=host) for address in LOCALHOST]
        return next((verdict for verdict in found if verdict.allowed), found[0])

    def _denies(self, address: Address, port: int) -> bool:
        if self.deny.holds(address, port):
            return True
        of_port = [each.host for each in self.deny.endpoints if each.port == port and not isinstance(each.host, str)]
        if any(own.is_unspecified for own in of_port):
            return special_of(address) is not None  # listens on every address of this machine
        return _is_local(address) and any(_is_local(own) for own in of_port)


def _is_local(address: Address) -> bool:
    """Reaches this machine by itself: loopback, and the unspecified address, which the kernel takes for it."""
    return address.is_unspecified or any(address in network for network in LOOPBACK)


LOCALHOST: tuple[Address, ...] = tuple(network.network_address + (network.version == 4) for network in LOOPBACK)
"""127.0.0.1 and ::1."""


def plain(address: Address) -> Address:
    """An IPv4-mapped address is the IPv4 address: that is where the connection goes."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def closed(special: Special, address: Address, port: int) -> str:
    """Why an address that is not public is refused, and what opens it."""
    return f"not of the public web ({special}); {ALLOW_SETTING}={authority(str(address), port)} would allow it"


def authority(host: str, port: int) -> str:
    """`host:port`, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_list(text: str, setting: str, *, names: bool = True) -> AddressList:
    """What a setting says: entries separated by commas, each `host:port`, `[IPv6]:port`, an address or a range.

    `names` off: hosts must be addresses. Raises BadAddressListError.
    """
    networks: list[Network] = []
    endpoints: set[Endpoint] = set()
    for entry in (part.strip() for part in text.split(",")):
        if not entry:
            continue
        network = _network(entry, setting)
        if network is not None:
            networks.append(network)
        else:
            endpoints.add(_endpoint(entry, setting, names=names))
    return AddressList(tuple(networks), frozenset(endpoints))


def _network(entry: str, setting: str) -> Network | None:
    try:
        return ip_network(entry.strip("[]"))
    except ValueError as error:
        if "/" in entry:
            raise BadAddressListError(setting, entry, f"is not a range ({error})") from None
        return None


def _endpoint(entry: str, setting: str, *, names: bool) -> Endpoint:
    host, colon, port_text = entry.rpartition(":")
    if not colon or not host or (":" in host and not host.startswith("[")):
        raise BadAddressListError(setting, entry, "has no port")
    if not (port_text.isascii() and port_text.isdigit()) or not 0 < int(port_text[:6]) <= MAX_PORT:
        raise BadAddressListError(setting, entry, f"has no port between 1 and {MAX_PORT}")
    try:
        address = literal_address(host)
    except BadHostError as error:
        raise BadAddressListError(setting, entry, f"has no host: {error}") from None
    if address is not None:
        return Endpoint(plain(address), int(port_text))
    if not names:
        raise BadAddressListError(setting, entry, "has a name, and names may change their address")
    return Endpoint(canonical_host(host), int(port_text))


def egress_rules(allow: str = "", deny: str = "") -> EgressRules:
    """Rules from the texts of both settings. Raises BadAddressListError."""
    return EgressRules(parse_list(allow, ALLOW_SETTING), parse_list(deny, DENY_SETTING, names=False))
