"""What a person may visit besides the public web: judged before anything starts."""

from pathlib import Path

import pytest

from comity.cli.allowance import Allowance, allowance, check_running, check_seeds, own_endpoints
from comity.cli.errors import BadInput, CliError


def test_flags_add_to_the_environment() -> None:
    both = allowance(["127.0.0.2:80", "10.0.0.0/8"], {"COMITY_ALLOW_PRIVATE": "192.168.0.0/16"})
    assert both == Allowance("192.168.0.0/16,127.0.0.2:80,10.0.0.0/8", "127.0.0.2:80,10.0.0.0/8")
    assert both.flags() == ["--allow-private", "127.0.0.2:80,10.0.0.0/8"]
    assert allowance(None, {}) == Allowance()
    assert allowance(None, {}).flags() == []


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        (["example.org"], {}, "--allow-private: 'example.org' has no port"),
        ([], {"COMITY_ALLOW_PRIVATE": "10.0.0.1/8"}, "COMITY_ALLOW_PRIVATE: '10.0.0.1/8' is not a range"),
        ([], {"COMITY_DENY": "a.example:80"}, "COMITY_DENY: 'a.example:80' has a name"),
        ([], {"COMITY_PROXIES": "proxy:3128"}, "COMITY_PROXIES: is not JSON"),
        ([], {"COMITY_INTERMEDIATES_FILE": "/nowhere"}, "COMITY_INTERMEDIATES_FILE: /nowhere cannot be read"),
    ],
)
def test_wrong_entry_is_named_with_where_it_stands(flags: list[str], environment: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        allowance(flags, environment)


def test_own_endpoints_come_after_what_is_closed_already() -> None:
    assert own_endpoints([("127.0.0.1", 1), ("127.0.0.1", 2)], {}) == "127.0.0.1:1,127.0.0.1:2"
    assert own_endpoints([("127.0.0.1", 1)], {"COMITY_DENY": "10.0.0.0/8"}) == "10.0.0.0/8,127.0.0.1:1"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://127.0.0.2:8080/", "127.0.0.2:8080"),
        ("http://0x7f.2:8080/", "127.0.0.0/8"),
        ("http://localhost/", "127.0.0.1:80"),
        ("https://[::1]/", "[::1]:443"),
        ("https://example.org/", ""),
        ("http://8.8.8.8/", ""),
    ],
)
def test_seed_that_is_public_or_allowed_passes(url: str, text: str) -> None:
    check_seeds([url], text)


@pytest.mark.parametrize(
    ("url", "text", "said"),
    [
        ("http://127.0.0.2:8080/", "", "--allow-private"),
        ("http://127.0.0.2:8080/", "127.0.0.2:8081", "COMITY_ALLOW_PRIVATE=127.0.0.2:8080"),
        ("http://2130706433/", "", "is 127.0.0.1: "),
        ("https://localhost/", "", "COMITY_ALLOW_PRIVATE=127.0.0.1:443"),
        ("http://192.168.1.1/", "", "private, 192.168.0.0/16, RFC 1918"),
        ("http://169.254.169.254/latest/", "0.0.0.0/0", "never visited"),
        ("http://127.0.0.1:4200/", "127.0.0.0/8", "this deployment's own"),
        ("http://1.2.3.4.5/", "", "ends like an IPv4 address"),
    ],
)
def test_seed_that_leads_inside_is_refused_naming_the_rule(url: str, text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_seeds(["https://example.org/", url], text, [("127.0.0.1", 4200)])
    assert str(caught.value).startswith(url)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_running_stack_must_have_what_is_asked_of_it() -> None:
    data = Path("/data")
    check_running(["http://127.0.0.2/"], Allowance("127.0.0.0/8", ""), "127.0.0.0/8", data)
    check_running(["https://example.org/"], Allowance("10.0.0.0/8", ""), "", data)
    check_running([], Allowance("127.0.0.2:80", "127.0.0.2:80"), "127.0.0.2:80,127.0.0.3:80", data)
    with pytest.raises(CliError, match=r"without --allow-private 127\.0\.0\.0/8: .*comity down --data /data"):
        check_running(["http://127.0.0.2/"], Allowance("127.0.0.0/8", ""), "", data)
    with pytest.raises(CliError, match=r"without --allow-private 10\.0\.0\.0/8"):
        check_running(["https://example.org/"], Allowance("10.0.0.0/8", "10.0.0.0/8"), "127.0.0.0/8", data)
