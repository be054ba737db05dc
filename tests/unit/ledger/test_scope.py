"""Which URLs a crawl may visit."""

import pytest

from comity.contract.ledger import Scope
from ledger.rules.scope import MAX_URL_BYTES, ScopeJudge, authority, frontier_url

EXACT = "http://a.example/" + "x" * (MAX_URL_BYTES - len("http://a.example/"))


@pytest.mark.parametrize(
    ("scope", "root", "url", "allowed"),
    [
        ("same-origin", "http://a.example/x", "http://a.example/y", True),
        ("same-origin", "http://a.example/x", "http://A.EXAMPLE:80/y", True),
        ("same-origin", "http://a.example./x", "http://a.example/y", True),
        ("same-origin", "http://bücher.example/", "http://xn--bcher-kva.example/y", True),
        ("same-origin", "http://a.example/x", "https://a.example/y", False),
        ("same-origin", "http://a.example/x", "http://a.example:8080/y", False),
        ("same-origin", "http://a.example/x", "http://b.a.example/y", False),
        ("same-origin", "http://a.example/x", "http://a.example.evil.example/", False),
        ("same-origin", "http://a.example/x", "http://a.example:port/", False),
        ("same-host", "http://a.example/x", "https://a.example:8443/y", True),
        ("same-host", "http://a.example/x", "http://b.example/y", False),
        ("same-host", "http://a.example/x", "http://b.a.example/y", False),
        ("same-domain", "http://www.a.co.uk/x", "https://shop.a.co.uk:8443/y", True),
        ("same-domain", "http://www.a.co.uk/x", "http://a.co.uk/", True),
        ("same-domain", "http://a.co.uk/x", "http://b.co.uk/", False),
        ("same-domain", "http://a.github.io/", "http://b.github.io/", False),
        ("same-domain", "http://github.io/", "http://a.github.io/", False),
        ("same-domain", "http://www.bücher.example/", "http://xn--bcher-kva.example/y", True),
        ("same-domain", "http://www.食狮.公司.cn/", "http://shop.xn--85x722f.xn--55qx5d.cn/", True),
        ("same-domain", "http://www.食狮.公司.cn/", "http://shop.公司.cn/", False),
        ("same-domain", "http://WWW.A.example./", "http://a.example/", True),
        ("same-domain", "http://localhost:8000/", "https://localhost/", True),
        ("same-domain", "http://localhost/", "http://a.localhost/", False),
        ("same-domain", "http://127.0.0.2/", "http://127.0.0.2:9/", True),
        ("same-domain", "http://127.0.0.2/", "http://127.1.0.2/", False),
        ("same-domain", "http://[fd00::2]/", "http://[fd00:0::2]:9/", True),
        ("same-domain", "http://[fd00::2]/", "http://[fd00::3]/", False),
        ("prefix", "http://a.example/docs/index.html", "http://a.example/docs/more/z", True),
        ("prefix", "http://a.example/docs/", "http://a.example/docs/", True),
        ("prefix", "http://a.example/docs/index.html", "http://a.example/docs", False),
        ("prefix", "http://a.example/docs/index.html", "http://a.example/docs2/", False),
        ("prefix", "http://a.example/docs/index.html", "https://a.example/docs/more", False),
        ("prefix", "http://a.example", "http://a.example/anything", True),
        ("prefix", "http://a.example/docs/", "http://a.example", False),
        ("prefix", "http://a.example/docs/", "http://a.example/docs/../private", False),
        ("prefix", "http://a.example/docs/", "http://a.example/docs/..\\private", False),
        ("prefix", "http://a.example/docs/", "http://a.example/x/../docs/y", True),
    ],
)
def test_scope_allows_what_lies_under_a_root(scope: Scope, root: str, url: str, allowed: bool) -> None:
    assert ScopeJudge(scope, [root]).allows(url) is allowed


def test_scope_of_several_roots_is_their_union() -> None:
    judge = ScopeJudge("prefix", ["http://a.example/one/", "http://a.example/two/", "http://b.example/"])
    assert judge.allows("http://a.example/two/x")
    assert judge.allows("http://b.example/x")
    assert not judge.allows("http://a.example/three/x")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://A.example/x", "a.example"),
        ("http://a.example:80/", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("https://a.example:80/", "a.example:80"),
        ("http://a.example.:8000/", "a.example:8000"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::1]/", "[::1]"),
        ("http://[0:0:0:0:0:0:0:1]/", "[::1]"),
        ("http://a。example。/", "a.example"),
    ],
)
def test_authority_is_the_host_that_a_visit_touches(url: str, host: str) -> None:
    assert authority(url) == host


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("http://a.example/x#part", "http://a.example/x"),
        ("http://a.example/x?q=1#a#b", "http://a.example/x?q=1"),
        ("http://a.example", "http://a.example"),
        ("HTTP://A.example/%7e/../b?", "HTTP://A.example/%7e/../b?"),
        (EXACT, EXACT),
    ],
)
def test_frontier_url_drops_the_fragment_and_nothing_else(value: str, url: str) -> None:
    assert frontier_url(value) == url


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("ftp://a.example/", "http://"),
        ("//a.example/", "http://"),
        ("a.example", "http://"),
        ("", "http://"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://a.example/a b", "spaces"),
        ("http://a.example/\n", "spaces"),
        ("http://a.example:99999/", "not a URL"),
        ("http://[::1/", "not a URL"),
        ("http://me:secret@a.example/", "credentials"),
        (EXACT + "x", "bytes"),
        ("http://a.example/\ud800", "Unicode"),
        ("http://2130706433/", "IPv4"),
    ],
)
def test_frontier_url_refuses_what_cannot_be_visited(value: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        frontier_url(value)
