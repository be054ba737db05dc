"""Hosts that are addresses in disguise, read as browsers read them (WHATWG URL, "host parsing").

`0x7f.1`, `2130706433`, `017700000001`, `127.1`, `１２７。０。０。１`, `%31%32%37.0.0.1` and `[::ffff:7f00:1]` all are
127.0.0.1 to a browser, and to the C library too.
"""

import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote

from comity.polite.rules.special_purpose import Address

MAX_PARTS = 4
_DIGITS = {8: frozenset("01234567"), 10: frozenset("0123456789"), 16: frozenset("0123456789abcdef")}


class BadHostError(ValueError):
    """The host is neither a name nor an address: a browser would show no page for it."""


def canonical_host(host: str) -> str:
    """The host as a browser compares it: decoded, compatibility forms folded, lower case, no dot at its end."""
    folded = unicodedata.normalize("NFKC", unquote(host)).replace("。", ".").lower()
    return folded.strip("[]") if folded.startswith("[") else folded.removesuffix(".")


def literal_address(host: str) -> Address | None:
    """The address that `host` spells; None for a name. IPv6 with or without brackets; a zone (`%eth0`) is dropped.

    Raises BadHostError for what ends like a number and is none (`1.2.3.4.5`, `0x100000000`, `256.1`).
    """
    bracketed = host.startswith("[")
    if bracketed or host.count(":") > 1:
        plain = host.strip("[]").partition("%")[0]
        try:
            return IPv6Address(plain)
        except AddressValueError:
            raise BadHostError(f"{host[:100]!r} is not an IPv6 address") from None
    parts = canonical_host(host).split(".")
    last = parts[-1]
    if not (last.isdigit() and last.isascii()) and _number(last) is None:
        return None
    numbers = [_number(part) for part in parts]
    if len(numbers) > MAX_PARTS or any(number is None for number in numbers):
        raise BadHostError(f"{host[:100]!r} ends like an IPv4 address and is none")
    *high, low = [number for number in numbers if number is not None]
    if any(part > 255 for part in high) or low >= 256 ** (5 - len(numbers)):
        raise BadHostError(f"{host[:100]!r} is beyond the range of IPv4 addresses")
    return IPv4Address(low + sum(part << 8 * (3 - place) for place, part in enumerate(high)))


def _number(text: str) -> int | None:
    """A part of an IPv4 address: decimal, octal after `0`, hexadecimal after `0x`; None where it is no number."""
    base, digits = 10, text
    if text.startswith("0x"):
        base, digits = 16, text[2:]
    elif len(text) > 1 and text.startswith("0"):
        base, digits = 8, text[1:]
    if not text or not set(digits) <= _DIGITS[base]:
        return None
    # Beyond any address, and the interpreter refuses to convert endless digits.
    return int(digits[:40] or "0", base)


def is_loopback_name(host: str) -> bool:
    """`localhost` and all below it: loopback by definition, whatever a resolver says (RFC 6761, section 6.3)."""
    name = canonical_host(host)
    return name == "localhost" or name.endswith(".localhost")
