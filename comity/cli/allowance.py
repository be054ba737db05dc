"""`--allow-private` and `COMITY_ALLOW_PRIVATE`: what may be visited besides the public web, known before a start."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from comity.cli.errors import BadInput, CliError
from comity.polite.rules.addresses import (
    ALLOW_SETTING,
    DENY_SETTING,
    BadAddressListError,
    EgressRules,
    egress_rules,
    parse_list,
)
from comity.polite.rules.proxies import BadProxyRulesError, ProxyRules, proxies_of

if TYPE_CHECKING:
    from comity.polite.trust import TlsTrust

FLAG = "--allow-private"
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Allowance:
    """`text` is the setting for the parts of a stack; `asked` is what the flags add to the environment."""

    text: str = ""
    asked: str = ""

    def flags(self) -> list[str]:
        """The options that pass it on to a further command."""
        return [FLAG, self.asked] if self.asked else []


def allowance(flags: Sequence[str] | None, environment: Mapping[str, str] | None = None) -> Allowance:
    """Flags and environment together. Raises BadInput naming the entry, or the setting of proxies or certificates, that
    cannot be understood.
    """
    from comity.polite.trust import BadTrustError, trust_of

    found = os.environ if environment is None else environment
    inherited, asked = found.get(ALLOW_SETTING, "").strip(), ",".join(flags or ())
    try:
        parse_list(inherited, ALLOW_SETTING)
        parse_list(asked, FLAG)
        egress_rules(deny=found.get(DENY_SETTING, ""))
        proxies_of(found)
        trust_of(found)
    except (BadAddressListError, BadProxyRulesError, BadTrustError) as error:
        raise BadInput(str(error)) from None
    return Allowance(",".join(part for part in (inherited, asked) if part), asked)


def certificates_and_proxies(environment: Mapping[str, str] | None = None) -> "tuple[TlsTrust, ProxyRules]":
    """Whose certificates are believed, and which URLs go through a proxy. Raises BadInput naming the setting."""
    from comity.polite.trust import BadTrustError, trust_of

    found = os.environ if environment is None else environment
    try:
        return trust_of(found), proxies_of(found)
    except (BadProxyRulesError, BadTrustError) as error:
        raise BadInput(str(error)) from None


def own_endpoints(addresses: Iterable[tuple[str, int]], environment: Mapping[str, str] | None = None) -> str:
    """The value of `COMITY_DENY` for a stack that listens there, with what the environment has closed already."""
    found = os.environ if environment is None else environment
    own = [f"{host}:{port}" for host, port in addresses]
    return ",".join(part for part in (found.get(DENY_SETTING, "").strip(), *own) if part)


def check_seeds(urls: Sequence[str], text: str, own: Iterable[tuple[str, int]] = ()) -> None:
    """Raises BadInput for a seed that could not be visited: it names the rule and what would open it.

    Judges addresses in any spelling, and `localhost`; other names are looked up by who visits them.
    """
    reason = _refusal(urls, egress_rules(text).closing(own))
    if reason is not None:
        raise BadInput(reason)


def check_running(urls: Sequence[str], wanted: Allowance, running: str, data: Path) -> None:
    """Raises CliError where the stack that runs on `data` lacks what this crawl needs or was asked to have."""
    asked, has = parse_list(wanted.asked, FLAG), parse_list(running, ALLOW_SETTING)
    lacks = not (set(asked.networks) <= set(has.networks) and asked.endpoints <= has.endpoints)
    if lacks or _refusal(urls, egress_rules(running)) is not None:
        raise CliError(
            f"the stack on {data} was started without {FLAG} {wanted.asked or wanted.text}: end it with "
            f"`comity down --data {shlex.quote(str(data))}`, and give this command again"
        )


def _refusal(urls: Sequence[str], rules: EgressRules) -> str | None:
    for url in urls:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
        verdict = rules.of_host(parts.hostname or "", port)
        if verdict is not None and not verdict.allowed:
            more = f" ({FLAG} for this command)" if verdict.rule == "special" else ""
            return f"{url}: {verdict.reason}{more}"
    return None
