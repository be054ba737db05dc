"""Which host a URL names and what is asked of it: one reading, and for what cannot be read one kind of error."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from comity.polite.client import Fetched, FetchFailure, GuardedClient
from comity.polite.egress import Egress
from comity.polite.rules.addresses import EgressRules
from comity.polite.rules.targets import BadUrlError, Target, redirect_target, target_of

PLAIN = re.compile(r"https?://[!-~]+")


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://a.example", "http://a.example/"),
        ("HTTP://A.Example:80/x?y=1#z", "http://a.example/x?y=1"),
        ("https://a.example:443/", "https://a.example/"),
        ("https://a.example:80/", "https://a.example:80/"),
        ("http://a.example./x", "http://a.example./x"),
        ("http://a.example/?", "http://a.example/?"),
        ("http://a.example/open/../closed", "http://a.example/closed"),
        ("http://a.example/%2e%2E/x%2fy%20%zz", "http://a.example/x%2fy%20%zz"),
        ("http://日本語.example/あ?い=う", "http://xn--wgv71a119e.example/%E3%81%82?%E3%81%84=%E3%81%86"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://a。b．example/", "http://a.b.example/"),
        ("http://under_score.example/", "http://under_score.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433./", "http://127.0.0.1/"),
        ("http://%31%32%37.0.0.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
        ('http://a.example/"<>`{}', "http://a.example/%22%3C%3E%60%7B%7D"),
    ],
)
def test_url_is_read_as_a_browser_reads_it(url: str, asked: str) -> None:
    target = target_of(url)
    assert target.url == asked
    assert URL(target.url, encoded=True).raw_host == target.host


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "must begin with http"),
        ("a.example", "must begin with http"),
        ("ftp://a.example/", "must begin with http"),
        ("http:///x", "has no host"),
        ("http://a b.example/", "spaces or control characters"),
        ("http://a.example/a\nb", "spaces or control characters"),
        ("http://a.example/\x00", "spaces or control characters"),
        ("http://a.example/\u2028", "spaces or control characters"),
        ("http://[fe80::1%25eth0]/", "zone"),
        ("http://[::1", "is not a web address"),
        ("http://[v1.x]/", "no host that can be visited"),
        ("http://a.example:99999/", "is not a web address"),
        ("http://a.example:x/", "is not a web address"),
        ("http://a.example:0/", "port 0"),
        ("http://1.2.3.4.5/", "no host that can be visited"),
        ("http://256.1.1.1/", "no host that can be visited"),
        ("http://a..b/", "no name"),
        ("http://a%00b/", "no name"),
        ("http://a%2fb/", "no name"),
        ("http://a\\b/", "backslash"),
        ("http://" + "a" * 64 + ".example/", "no name"),
        ("http://" + "a." * 130 + "example/", "no name"),
        ("http://\ud800.example/", "no name"),
        ("http://a.example/\ud800", "half of a character"),
        ("http://me:secret@a.example/", "user or password"),
        ("http://me@a.example/", "user or password"),
        ("http://a.example/" + "x" * 20_000, "characters"),
    ],
)
def test_url_that_cannot_be_asked_says_why(url: str, says: str) -> None:
    with pytest.raises(BadUrlError, match=re.escape(says)) as caught:
        target_of(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "leads"),
    [
        ("/x", "http://a.example:8080/x"),
        ("x", "http://a.example:8080/d/x"),
        ("?q", "http://a.example:8080/d/e?q"),
        ("//b.example/x", "http://b.example/x"),
        ("\\\\b.example/x", "http://b.example/x"),
        (" https://b.example/a b\t", "https://b.example/a%20b"),
        ("/é", "http://a.example:8080/%C3%A9"),
        ("/\udce9", "http://a.example:8080/%E9"),  # a byte of Latin-1, as aiohttp hands it over
        ("http://me:secret@b.example/", "http://b.example/"),
        ("../../x", "http://a.example:8080/x"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("#part", "http://a.example:8080/d/e?f"),
    ],
)
def test_location_is_read_as_a_browser_reads_it(location: str, leads: str) -> None:
    assert redirect_target("http://a.example:8080/d/e?f", location).url == leads


@pytest.mark.parametrize(
    "location", ["mailto:x", "javascript:1", "https://", "http://[", "//a:b:c/", "data:,x", "http://\ud800/"]
)
def test_location_off_the_web_is_refused(location: str) -> None:
    with pytest.raises(BadUrlError):
        redirect_target("http://a.example/", location)


PARTS = st.one_of(
    st.sampled_from(
        ["http", "https", "HTTP", "ftp", "", "://", ":", "//", "/", "\\", "@", "user:pw@", "[", "]", "%", "%2e", "%00",
         "%zz", "..", ".", "?", "#", ":80", ":0", ":99999", "::1", "127.1", "0x7f", "2130706433", "%25eth0", "xn--",
         "日本", "ß", "\u200d", "\u3002", "\ud800", "\udce9", "\x00", "\t", "\n", "\r", " ", "\x7f", "\u2028",
         "a.example", "localhost", "a" * 64]
    ),
    st.text(max_size=5),
)  # fmt: skip
URLS = st.lists(PARTS, max_size=9).map("".join) | st.lists(PARTS, max_size=8).map(
    lambda parts: "http://" + "".join(parts)
)


@settings(max_examples=400, deadline=None)
@given(URLS)
def test_any_text_is_a_target_or_a_bad_url(text: str) -> None:
    for read in (target_of, lambda location: redirect_target("https://base.example/d/e", location)):
        try:
            target = read(text)
        except BadUrlError:
            continue
        sound(target)


def sound(target: Target) -> None:
    """What is judged is what is dialled and sent, whoever reads it."""
    assert PLAIN.fullmatch(target.url), target
    parts = urlsplit(target.url)
    assert (parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]) == (target.host, target.port)
    assert parts.username is None
    as_sent = URL(target.url, encoded=True)
    assert (as_sent.raw_host, as_sent.port, as_sent.scheme) == (target.host, target.port, target.scheme)
    assert target_of(target.url).url == target.url


async def nowhere(_: str) -> Sequence[str]:
    raise OSError(-2, "Name or service not known")


@settings(max_examples=60, deadline=None)
@given(st.lists(URLS, min_size=1, max_size=5))
async def test_any_text_is_a_code_to_the_client(texts: list[str]) -> None:
    async with GuardedClient(Egress(EgressRules(), lookup=nowhere)) as client:
        for text in texts:
            got = await client.get(text)
            assert not isinstance(got, Fetched)
            assert isinstance(got, FetchFailure)
            assert got.code in {"E_URL_INVALID", "E_URL_POLICY", "E_HTTP_FETCH"}
            assert (got.url, bool(got.message), "\n" in got.message) == (text, True, False)
