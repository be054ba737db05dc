"""Proxies that pages name in their settings, as a worker knows them."""

import json
from collections.abc import Mapping

from comity.polite.rules.proxies import BadProxyRulesError, ProxyRules, proxy_rules

SETTING = "COMITY_WATCH_PROXIES"


def named_proxies(text: str) -> Mapping[str, ProxyRules]:
    """`{"name": "http://host:port"}` as JSON; `direct` for none. Raises ValueError that says what is wrong."""
    if not text.strip():
        return {}
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or not all(isinstance(proxy, str) for proxy in said.values()):
        raise ValueError('must be JSON of names and proxies, such as {"abroad": "http://proxy.example.net:3128"}')
    found = {}
    for name, proxy in said.items():
        try:
            found[name] = proxy_rules(json.dumps([{"pattern": "*", "proxy": proxy}]))
        except BadProxyRulesError:
            raise ValueError(
                f"{name}: the proxy must be http://host:port, with user:password@ where it asks so, or direct"
            ) from None
    return found
