"""Which URLs go through a proxy, and what can still be checked there.

A proxy looks names up itself, so the address that a name leads to is not ours to judge any more: the check moves to the
name. Addresses in the URL, in any spelling, are judged as ever.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from comity.polite.rules.addresses import ALLOW_SETTING, AddressVerdict, EgressRules, authority
from comity.polite.rules.literals import canonical_host

PROXIES_SETTING = "COMITY_PROXIES"
DIRECT = "direct"
_INNER = frozenset(
    {"local", "internal", "intranet", "private", "corp", "home", "lan", "localdomain", "localhost", "test", "invalid",
     "onion", "alt"}
)  # fmt: skip
"""Last labels that no public name ends in (RFC 6761, 6762, 7686, 9476; ICANN's `internal`; what networks made up)."""


class BadProxyRulesError(ValueError):
    """The setting cannot be understood. Names it, and the entry; never a password."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{PROXIES_SETTING}: {why}; write a JSON list such as "
            '[{"pattern": "https://*.example.org/*", "proxy": "http://proxy.example.net:3128"}], '
            f'where "{DIRECT}" as proxy stands for none'
        )


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of `Proxy-Authorization`, or empty."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return authority(self.host, self.port)


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """A glob with `*` over the whole URL, and the proxy for what it matches; None: no proxy."""

    pattern: str
    proxy: Proxy | None


@dataclass(frozen=True, slots=True)
class ProxyRules:
    """First match wins; a URL that none matches goes out directly."""

    rules: tuple[ProxyRule, ...] = ()

    def proxy_for(self, url: str) -> Proxy | None:
        """The proxy for that URL."""
        for rule in self.rules:
            if _glob(rule.pattern).fullmatch(url):
                return rule.proxy
        return None

    @property
    def proxies(self) -> tuple[Proxy, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(rule.proxy for rule in self.rules if rule.proxy is not None))


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    # Lazy pieces between literals: linear enough for the few patterns that an operator writes.
    return re.compile(".*".join(re.escape(piece) for piece in re.split(r"\*+", pattern)), re.DOTALL)


def proxy_rules(text: str) -> ProxyRules:
    """What the setting says; empty: no proxies. Raises BadProxyRulesError."""
    if not text.strip():
        return ProxyRules()
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise BadProxyRulesError(f"is not JSON ({error})") from None
    if not isinstance(entries, list):
        raise BadProxyRulesError("is not a list")
    return ProxyRules(tuple(_rule(place, entry) for place, entry in enumerate(entries)))


def proxies_of(environment: Mapping[str, str]) -> ProxyRules:
    """The rules that `COMITY_PROXIES` sets. Raises BadProxyRulesError."""
    return proxy_rules(environment.get(PROXIES_SETTING, ""))


def _rule(place: int, entry: object) -> ProxyRule:
    where = f"entry {place}"
    if not isinstance(entry, dict) or set(entry) != {"pattern", "proxy"}:
        raise BadProxyRulesError(f"{where} is not an object with pattern and proxy, and nothing else")
    pattern, proxy = entry["pattern"], entry["proxy"]
    if not isinstance(pattern, str) or not pattern or not isinstance(proxy, str):
        raise BadProxyRulesError(f"{where}: pattern and proxy must be texts, and the pattern not empty")
    return ProxyRule(pattern, None if proxy == DIRECT else _proxy(proxy, where))


def _proxy(url: str, where: str) -> Proxy:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadProxyRulesError(f"{where}: the proxy is not a URL") from None
    if parts.scheme != "http" or not host or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadProxyRulesError(f"{where}: the proxy must be http://host:port, with user:password@ where it asks so")
    authorization = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {b64encode(pair.encode()).decode('ascii')}"
    return Proxy(host, port or 80, authorization)


def name_verdict(rules: EgressRules, host: str, port: int) -> AddressVerdict:
    """May a proxy be asked for this host? Addresses and `localhost` by the rules for addresses; a name by its own form.

    Refused are names without a dot and those under a top-level domain that is not public, unless `COMITY_ALLOW_PRIVATE`
    has the name with its port. Where other names lead is the proxy's to judge.
    """
    verdict = rules.of_host(host, port)
    if verdict is not None:
        return verdict
    name = canonical_host(host)
    if rules.allow.names(name, port):
        return AddressVerdict(True, "allowed", host, port)
    last = name.rpartition(".")[2]
    if "." in name and last not in _INNER:
        return AddressVerdict(True, "public", host, port)
    reason = (
        f"{authority(host, port)} is refused: a proxy would look it up, and it is no name of the public web; "
        f"{ALLOW_SETTING}={authority(name, port)} would allow it"
    )
    return AddressVerdict(False, "special", host, port, reason=reason)
