"""Which URLs go through which proxy, and what a proxy may be asked for."""

import pytest

from comity.polite.rules.addresses import egress_rules
from comity.polite.rules.proxies import BadProxyRulesError, Proxy, name_verdict, proxies_of, proxy_rules

TWO = """[{"pattern": "https://plain.example/*", "proxy": "direct"},
          {"pattern": "https://*.example/*", "proxy": "http://us%40er:p%3Aw@proxy.example:3128"},
          {"pattern": "*", "proxy": "http://[::1]"}]"""


def test_first_match_decides() -> None:
    rules = proxy_rules(TWO)
    named = Proxy("proxy.example", 3128, "Basic dXNAZXI6cDp3")
    assert rules.proxy_for("https://plain.example/x") is None
    assert rules.proxy_for("https://a.example/x?y") == named
    assert rules.proxy_for("http://a.example/") == Proxy("::1", 80)
    assert rules.proxies == (named, Proxy("::1", 80))
    assert [str(proxy) for proxy in rules.proxies] == ["proxy.example:3128", "[::1]:80"]


def test_without_the_setting_everything_is_direct() -> None:
    for environment in ({}, {"COMITY_PROXIES": " "}, {"COMITY_PROXIES": "[]"}, {"HTTP_PROXY": "http://x:1"}):
        assert proxies_of(environment).proxy_for("http://a.example/") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("http://proxy:3128", "is not JSON"),
        ("{}", "is not a list"),
        ("[1]", "entry 0"),
        ('[{"pattern": "*"}]', "entry 0"),
        ('[{"pattern": "*", "proxy": "direct"}, {"pattern": "", "proxy": "direct"}]', "entry 1"),
        ('[{"pattern": "*", "proxy": "https://me:hidden@proxy:1"}]', "must be http://host:port"),
        ('[{"pattern": "*", "proxy": "socks5://proxy:1"}]', "must be http://host:port"),
        ('[{"pattern": "*", "proxy": "http://proxy:99999"}]', "is not a URL"),
        ('[{"pattern": "*", "proxy": "http://proxy/path"}]', "must be http://host:port"),
    ],
)
def test_broken_setting_is_named_without_a_password(text: str, says: str) -> None:
    with pytest.raises(BadProxyRulesError, match="COMITY_PROXIES") as caught:
        proxy_rules(text)
    assert says in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert "hidden" not in repr(proxy_rules('[{"pattern": "*", "proxy": "http://me:hidden@proxy:1"}]'))


@pytest.mark.parametrize(
    "host", ["a.example", "www.python.org", "8.8.8.8", "xn--wgv71a.jp", "a.b.", "[2606:4700::1111]"]
)
def test_public_name_may_be_asked_of_a_proxy(host: str) -> None:
    assert name_verdict(egress_rules(), host, 443).allowed


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "0x7f.1", "localhost", "printer", "nas.local", "a.internal.", "[::1]", "1.2.3.4.5"]
)
def test_other_name_may_not_unless_it_is_allowed(host: str) -> None:
    verdict = name_verdict(egress_rules(), host, 80)
    assert not verdict.allowed
    assert verdict.reason
    if host == "printer":
        assert "COMITY_ALLOW_PRIVATE=printer:80" in verdict.reason
        assert name_verdict(egress_rules("printer:80"), host, 80).allowed
        assert not name_verdict(egress_rules("printer:80"), host, 81).allowed
