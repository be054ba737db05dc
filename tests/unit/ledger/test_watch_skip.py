"""Whose doing a skipped visit is."""

from comity.polite.rules.addresses import egress_rules
from ledger.rules.watch_skip import because_of_us


def refused(host: str, port: int, deny: str = "") -> str:
    verdict = egress_rules("", deny).of_host(host, port)
    assert verdict is not None
    assert not verdict.allowed
    return f"robots-unreachable: http://{host}:{port}/robots.txt: {verdict.reason}"


def test_address_that_our_policy_refuses_is_said_with_what_opens_it() -> None:
    said = because_of_us(refused("127.0.0.2", 8080))
    assert said is not None
    assert "COMITY_ALLOW_PRIVATE" in said
    assert "--allow-private HOST:PORT" in said


def test_address_that_is_closed_for_good_is_said_with_what_closes_it() -> None:
    said = because_of_us(refused("127.0.0.2", 8080, "127.0.0.2:8080"))
    assert said is not None
    assert "COMITY_DENY" in said
    assert "COMITY_ALLOW_PRIVATE" not in said


def test_what_the_site_wants_is_not_our_doing() -> None:
    assert because_of_us("robots-disallowed: Disallow: /private") is None
    assert because_of_us("robots-unreachable: http://a.example/robots.txt: HTTP 503") is None
