"""Addresses that are not the public web: the IANA registries as tables of our own.

Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), IPv4 multicast and class E, and the IPv6
address space registry, by which only 2000::/3 is given out as global unicast. Own tables, because the answer must not
change with the interpreter: `ipaddress` has changed its mind about these ranges between releases.

Left out on purpose, because the registries call them globally reachable: AS112 (192.31.196.0/24, 192.175.48.0/24,
2620:4f:8000::/48) and AMT (192.52.193.0/24).
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Special:
    """A range that no page of the public web lies in. `name` is for people: `loopback`, `private`..."""

    network: Network
    name: str
    source: str

    def __str__(self) -> str:
        return f"{self.name}, {self.network}, {self.source}"


def _table(*rows: tuple[str, str, str]) -> tuple[Special, ...]:
    return tuple(Special(ip_network(network), name, source) for network, name, source in rows)


IPV4 = _table(
    ("0.0.0.0/32", "unspecified", "RFC 1122"),
    ("0.0.0.0/8", "this network", "RFC 791"),
    ("10.0.0.0/8", "private", "RFC 1918"),
    ("100.64.0.0/10", "carrier-grade NAT", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122"),
    ("169.254.0.0/16", "link-local", "RFC 3927"),
    ("172.16.0.0/12", "private", "RFC 1918"),
    ("192.0.0.0/24", "IETF protocol assignments", "RFC 6890"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.88.99.0/24", "6to4 relay", "RFC 7526"),
    ("192.168.0.0/16", "private", "RFC 1918"),
    ("198.18.0.0/15", "benchmarking", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("255.255.255.255/32", "broadcast", "RFC 919"),
    ("240.0.0.0/4", "reserved", "RFC 1112"),
)
"""The first row that holds an address names it."""

IPV6 = _table(
    ("::/128", "unspecified", "RFC 4291"),
    ("::1/128", "loopback", "RFC 4291"),
    ("::/96", "IPv4-compatible", "RFC 4291"),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765"),
    ("64:ff9b:1::/48", "local NAT64", "RFC 8215"),
    ("100::/64", "discard", "RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    ("2001:2::/48", "benchmarking", "RFC 5180"),
    ("2001:10::/28", "ORCHID", "RFC 4843"),
    ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
    ("2001:30::/28", "drone identifiers", "RFC 9374"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("5f00::/16", "segment routing", "RFC 9602"),
    ("fc00::/7", "unique local", "RFC 4193"),
    ("fe80::/10", "link-local", "RFC 4291"),
    ("fec0::/10", "site-local", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291"),
)

TEREDO = IPv6Network("2001::/32")
IETF_ASSIGNMENTS = Special(IPv6Network("2001::/23"), "IETF protocol assignments", "RFC 2928")
NAT64 = IPv6Network("64:ff9b::/96")
SIX_TO_FOUR = IPv6Network("2002::/16")
GLOBAL_UNICAST = IPv6Network("2000::/3")
UNASSIGNED = Special(IPv6Network("::/0"), "not global unicast", "RFC 4291")

LOOPBACK: tuple[Network, ...] = (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))

METADATA: dict[Address, str] = {
    ip_address(address): whose
    for address, whose in {
        "169.254.169.254": "instance metadata of most clouds",
        "169.254.169.253": "resolver of AWS instances",
        "169.254.169.123": "time service of AWS instances",
        "169.254.170.2": "credentials of AWS containers",
        "169.254.170.23": "credentials of AWS pods",
        "169.254.0.23": "instance metadata of Tencent Cloud",
        "169.254.42.42": "instance metadata of Scaleway",
        "100.100.100.200": "instance metadata of Alibaba Cloud",
        "168.63.129.16": "platform address of Azure",
        "192.0.0.192": "instance metadata of Oracle Cloud",
        "fd00:ec2::254": "instance metadata of AWS",
        "fd00:ec2::253": "resolver of AWS instances",
        "fd00:ec2::123": "time service of AWS instances",
        "fd00:ec2::23": "credentials of AWS pods",
        "fd20:ce::254": "instance metadata of Google Cloud",
        "fd00:42::42": "instance metadata of Scaleway",
    }.items()
}
"""Where a cloud hands an instance its credentials. One of them lies in public space."""


def special_of(address: Address) -> Special | None:
    """The range that keeps `address` off the public web; None: it is a public address.

    Of addresses that carry an IPv4 address to which a translator passes them on (NAT64, 6to4, Teredo), see
    `carried_by`: they are as public as what they carry.
    """
    if isinstance(address, IPv4Address):
        return next((row for row in IPV4 if address in row.network), None)
    if address.ipv4_mapped is not None:
        return special_of(address.ipv4_mapped)
    for row in IPV6:
        if address in row.network:
            return row
    carried = carried_by(address)
    if carried:
        return next((found for each in carried if (found := special_of(each))), None)
    if address in IETF_ASSIGNMENTS.network:
        return IETF_ASSIGNMENTS
    return None if address in GLOBAL_UNICAST else UNASSIGNED


def carried_by(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address leads to: of NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380: its
    server and its client), and the mapped, compatible and translated forms. Empty for all others.
    """
    value = int(address)
    low = IPv4Address(value & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None:
        return (low,)
    if address in SIX_TO_FOUR:
        return (IPv4Address(value >> 80 & 0xFFFF_FFFF),)
    if address in TEREDO:
        return (IPv4Address(value >> 64 & 0xFFFF_FFFF), IPv4Address(int(low) ^ 0xFFFF_FFFF))
    forms = (NAT64, IPv6Network("::ffff:0:0:0/96"), IPv6Network("::/96"))
    if any(address in form for form in forms) and value > 1:
        return (low,)
    return ()
