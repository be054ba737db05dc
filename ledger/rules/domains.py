"""Registered domains: what somebody registered below a public suffix, by the list that ships with a package.

The list (publicsuffix.org) is read from the installed package, once, and never fetched: a crawl means the same with and
without a network, and a newer list comes with a newer package.
"""

from functools import cache, lru_cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=10_000)
def registered_domain(host: str) -> str | None:
    """The public suffix of a host name and the label before it: `example.co.uk` of `www.example.co.uk`.

    None where there is none: an IP address, a name of one label, a public suffix itself. Private suffixes count too, so
    `a.github.io` and `b.github.io` are two domains: different people have them. `host` is lower case, names in IDNA.
    """
    try:
        ip_address(host)
    except ValueError:
        return _suffixes().privatesuffix(host)
    return None
