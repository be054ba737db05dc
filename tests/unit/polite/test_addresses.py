"""Which addresses are the public web, in whatever spelling, and what the two settings open and close."""

from ipaddress import ip_address

import pytest

from comity.polite.rules.addresses import (
    ALLOW_SETTING,
    DENY_SETTING,
    BadAddressListError,
    EgressRules,
    egress_rules,
    parse_list,
)
from comity.polite.rules.literals import BadHostError, literal_address
from comity.polite.rules.special_purpose import METADATA, special_of

PUBLIC = [
    "1.0.0.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255",
    "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.112.255", "203.0.114.0",
    "223.255.255.255", "2001:4860:4860::8888", "2606:4700::1111", "2a00::1", "2001:200::1", "2001:db7:ffff::1",
    "2001:db9::", "2003::1", "3ffe::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
]  # fmt: skip

SPECIAL = [
    ("0.0.0.0", "unspecified"), ("0.1.2.3", "this network"), ("10.0.0.0", "private"), ("10.255.255.255", "private"),
    ("100.64.0.0", "carrier-grade NAT"), ("100.127.255.255", "carrier-grade NAT"), ("127.0.0.0", "loopback"),
    ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("169.254.0.0", "link-local"),
    ("169.254.255.255", "link-local"), ("172.16.0.0", "private"), ("172.31.255.255", "private"),
    ("192.0.0.8", "IETF protocol assignments"), ("192.0.2.1", "documentation"), ("192.88.99.1", "6to4 relay"),
    ("192.168.0.1", "private"), ("198.18.0.0", "benchmarking"), ("198.19.255.255", "benchmarking"),
    ("198.51.100.7", "documentation"), ("203.0.113.7", "documentation"), ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"), ("240.0.0.0", "reserved"), ("255.255.255.255", "broadcast"),
    ("::", "unspecified"), ("::1", "loopback"), ("::7f00:1", "IPv4-compatible"), ("::808:808", "IPv4-compatible"),
    ("::ffff:127.0.0.1", "loopback"), ("::ffff:10.1.2.3", "private"), ("::ffff:0:7f00:1", "IPv4-translated"),
    ("::ffff:0:808:808", "IPv4-translated"), ("64:ff9b::7f00:1", "loopback"), ("64:ff9b::a00:1", "private"),
    ("64:ff9b:1::808:808", "local NAT64"), ("64:ff9b:2::1", "not global unicast"), ("100::1", "discard"),
    ("100:0:0:1::1", "dummy prefix"), ("2001:0:808:808::f5ff:fffe", "private"),
    ("2001:0:7f00:1::f7f7:f7f7", "loopback"),
    ("2001:1::1", "IETF protocol assignments"), ("2001:2::1", "benchmarking"), ("2001:10::1", "ORCHID"),
    ("2001:20::1", "ORCHIDv2"), ("2001:30::1", "drone identifiers"), ("2001:db8::1", "documentation"),
    ("2002:7f00:1::1", "loopback"), ("2002:c0a8:101::1", "private"), ("3fff:fff::1", "documentation"),
    ("4000::1", "not global unicast"), ("5f00::1", "segment routing"), ("fc00::1", "unique local"),
    ("fdff::1", "unique local"), ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
]  # fmt: skip

LOOPBACK_SPELLINGS = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.0.0.0x1", "0x7f.1", "017700000001", "0177.0.0.1",
    "0177.1", "00000177.0.0.01", "127.0.0.1.", "%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "::ffff:7f00:1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_open(address: str) -> None:
    verdict = EgressRules().of_address(ip_address(address), 443)
    assert (verdict.allowed, verdict.rule, verdict.reason) == (True, "public", "")


@pytest.mark.parametrize(("address", "name"), SPECIAL)
def test_special_address_is_closed_and_named(address: str, name: str) -> None:
    special = special_of(ip_address(address))
    assert special is not None
    assert special.name == name
    verdict = EgressRules().of_address(ip_address(address), 443)
    assert not verdict.allowed
    assert verdict.rule in {"special", "metadata"}
    assert name in verdict.reason
    assert f"{ALLOW_SETTING}=" in verdict.reason


@pytest.mark.parametrize("spelling", LOOPBACK_SPELLINGS)
def test_loopback_is_closed_in_any_spelling(spelling: str) -> None:
    verdict = EgressRules().of_host(spelling, 80)
    assert verdict is not None
    assert not verdict.allowed
    assert verdict.address == "127.0.0.1"
    opened = egress_rules(allow="127.0.0.1:80").of_host(spelling, 80)
    assert opened is not None
    assert opened.allowed


@pytest.mark.parametrize(
    ("host", "address"),
    [("8.8.8.8", "8.8.8.8"), ("134744072", "8.8.8.8"), ("8.8", "8.0.0.8"), ("1.65535", "1.0.255.255"),
     ("0", "0.0.0.0"), ("0x", "0.0.0.0"), ("4294967295", "255.255.255.255"), ("[::1]", "::1"), ("::1", "::1"),
     ("[fe80::1%25eth0]", "fe80::1"), ("[::]", "::")],
)  # fmt: skip
def test_literal_is_read_as_browsers_do(host: str, address: str) -> None:
    assert str(literal_address(host)) == address


@pytest.mark.parametrize(
    "host", ["example.org", "a.1.example", "1.2.3.4.example", "0xg", "0x7f.1.com", "localhost", "x1", "1-2", ""]
)
def test_name_is_no_literal(host: str) -> None:
    assert literal_address(host) is None


@pytest.mark.parametrize(
    "host", ["1.2.3.4.5", "256.1.1.1", "1.256.1.1", "1.2.3.256", "4294967296", "0x100000000", "08", "1.2.3.08", "a.1",
             "1..2", "[::1::]", "[12345::]", "9" * 5000]
)  # fmt: skip
def test_host_that_only_looks_like_an_address_is_refused(host: str) -> None:
    with pytest.raises(BadHostError):
        literal_address(host)
    verdict = EgressRules().of_host(host, 80)
    assert verdict is not None
    assert (verdict.allowed, verdict.rule) == (False, "bad-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "x.y.LocalHost"])
def test_localhost_is_loopback_whatever_a_resolver_says(host: str) -> None:
    closed = EgressRules().of_host(host, 80)
    opened = egress_rules(allow="127.0.0.0/8").of_host(host, 80)
    assert closed is not None
    assert opened is not None
    assert (closed.allowed, opened.allowed) == (False, True)


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "notlocalhost"])
def test_other_names_are_judged_by_their_addresses(host: str) -> None:
    assert EgressRules().of_host(host, 80) is None


@pytest.mark.parametrize(
    ("allow", "host", "address", "port", "allowed"),
    [
        ("127.0.0.2:8080", None, "127.0.0.2", 8080, True),
        ("127.0.0.2:8080", None, "127.0.0.2", 8081, False),
        ("127.0.0.2:8080", None, "127.0.0.3", 8080, False),
        ("0x7f.2:8080", None, "127.0.0.2", 8080, True),
        ("127.0.0.2", None, "127.0.0.2", 1, True),
        ("10.0.0.0/8, 192.168.1.0/24", None, "192.168.1.9", 80, True),
        ("10.0.0.0/8, 192.168.1.0/24", None, "192.168.2.9", 80, False),
        ("127.0.0.0/8", None, "::ffff:127.0.0.9", 80, True),
        ("127.0.0.0/8", None, "64:ff9b::7f00:9", 80, False),
        ("[fd00::1]:80", None, "fd00::1", 80, True),
        ("[fd00::1]:80", None, "fd00::2", 80, False),
        ("fd00::/8", None, "fd00::2", 80, True),
        ("intranet.example:443", "intranet.example", "10.1.1.1", 443, True),
        ("Intranet.Example:443", "intranet.example.", "10.1.1.1", 443, True),
        ("intranet.example:443", "intranet.example", "10.1.1.1", 80, False),
        ("intranet.example:443", "other.example", "10.1.1.1", 443, False),
    ],
)
def test_allowance_opens_what_it_names_and_no_more(
    allow: str, host: str | None, address: str, port: int, allowed: bool
) -> None:
    verdict = egress_rules(allow=allow).of_address(ip_address(address), port, host=host)
    assert verdict.allowed is allowed
    assert verdict.rule == ("allowed" if allowed else "special")


@pytest.mark.parametrize("address", [*map(str, METADATA), "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"])
def test_metadata_stays_closed_whatever_is_allowed(address: str) -> None:
    verdict = egress_rules(allow="0.0.0.0/0,::/0").of_address(ip_address(address), 80)
    assert (verdict.allowed, verdict.rule) == (False, "metadata")
    assert ALLOW_SETTING not in verdict.reason


@pytest.mark.parametrize(
    ("deny", "address", "port", "denied"),
    [
        ("127.0.0.1:4200", "127.0.0.1", 4200, True),
        ("127.0.0.1:4200", "127.0.0.2", 4200, True),
        ("127.0.0.1:4200", "0.0.0.0", 4200, True),
        ("127.0.0.1:4200", "::1", 4200, True),
        ("127.0.0.1:4200", "::ffff:127.0.0.1", 4200, True),
        ("127.0.0.1:4200", "127.0.0.1", 4201, False),
        ("127.0.0.1:4200", "10.0.0.1", 4200, False),
        ("10.0.0.5:8765", "10.0.0.5", 8765, True),
        ("10.0.0.5:8765", "10.0.0.6", 8765, False),
        ("10.0.0.5:8765", "2002:a00:5::1", 8765, True),
        ("0.0.0.0:8765", "10.0.0.6", 8765, True),
        ("[::]:8765", "127.0.0.1", 8765, True),
        ("0.0.0.0:8765", "8.8.8.8", 8765, False),
        ("198.18.0.0/15", "198.18.7.7", 1, True),
        ("8.8.8.8", "8.8.8.8", 53, True),
    ],
)
def test_own_endpoints_stay_closed_whatever_is_allowed(deny: str, address: str, port: int, denied: bool) -> None:
    verdict = egress_rules(allow="0.0.0.0/0,::/0", deny=deny).of_address(ip_address(address), port)
    assert verdict.allowed is not denied
    assert (verdict.rule == "denied") is denied


def test_rules_can_be_closed_further() -> None:
    rules = egress_rules(allow="127.0.0.0/8").closing([("127.0.0.1", 9000), ("::1", 9001)])
    assert [rules.of_address(ip_address("127.0.0.1"), port).allowed for port in (9000, 9001, 9002)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "text", ["", " ", ",", "127.0.0.1:80,", "10.0.0.0/8 , [::1]:443", "::1", "[::1]", "a.example:1"]
)
def test_list_is_read(text: str) -> None:
    parse_list(text, ALLOW_SETTING)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("example.org", "has no port"),
        ("10.0.0.1/8", "not a range"),
        ("10.0.0.0/33", "not a range"),
        ("127.0.0.1:0", "between 1 and 65535"),
        ("127.0.0.1:65536", "between 1 and 65535"),
        ("127.0.0.1:http", "between 1 and 65535"),
        ("http://127.0.0.1:80", "not a range"),
        ("1.2.3.4.5:80", "has no host"),
        (":80", "has no port"),
    ],
)
def test_wrong_entry_is_refused_naming_setting_and_entry(text: str, says: str) -> None:
    with pytest.raises(BadAddressListError) as caught:
        parse_list(f"127.0.0.1:80,{text}", ALLOW_SETTING)
    assert f"{ALLOW_SETTING}: {text!r}" in str(caught.value)
    assert says in str(caught.value)


def test_names_cannot_be_denied() -> None:
    with pytest.raises(BadAddressListError, match=DENY_SETTING):
        egress_rules(deny="ledger.example:8765")
