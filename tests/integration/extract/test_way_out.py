"""Extraction goes the environment's way out: its proxies, and a setting that cannot be used is named."""

import pytest

from comity.cli.allowance import certificates_and_proxies
from comity.cli.errors import BadInput
from comity.extract.run import open_client
from comity.polite.answers import GetLimits
from comity.polite.client import Fetched
from comity.polite.rules.proxies import BadProxyRulesError
from tests.integration.polite.test_client_proxies import proxy_to, rules

LIMITS = GetLimits(connect_ms=20_000, first_byte_ms=40_000, total_ms=60_000)


async def test_a_page_comes_by_the_proxy_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy_to() as proxy:
        monkeypatch.setenv("COMITY_PROXIES", rules(proxy.port, "http://*.shop.example/*"))
        async with open_client() as client:
            answer = await client.get("http://www.shop.example/a", limits=LIMITS)
    assert isinstance(answer, Fetched), answer
    assert answer.body == b"by proxy"


def test_proxies_that_cannot_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMITY_PROXIES", "nonsense")
    with pytest.raises(BadProxyRulesError, match="COMITY_PROXIES"):
        open_client()
    with pytest.raises(BadInput, match="COMITY_PROXIES"):
        certificates_and_proxies()
