"""Index keys and lines, against the community's indexer."""

import json
from datetime import UTC, datetime

import pytest
import surt as reference  # type: ignore[import-untyped]  # the library has no types

from comity.archive.cdxj import IndexEntry, index, line, mime_of
from comity.archive.surt import surt

URLS = [
    "http://example.org",
    "http://example.org/",
    "https://www.Example.org:443/A/B/",
    "http://www2.example.org:80/a",
    "http://www.example.org:8080/a//b/./c/../d",
    "http://example.org/../a",
    "http://example.org/a/..",
    "http://example.org/a?b=2&a=1",
    "http://example.org/a?b&a&c=",
    "http://example.org/a?a-b=1&a=2",
    "http://example.org/a?",
    "http://example.org/a?&",
    "http://example.org/a?x=%41%2541%20b",
    "http://example.org/a%2Fb%20c",
    "http://example.org/灯台?q=猫",
    "http://example.org/%E7%81%AF",
    "http://example.org/a#fragment",
    "http://user:word@example.org/a",
    "http://例え.jp/",
    "http://127.0.0.2:8000/",
    "http://[::1]:8000/a",
    "http://example.org/a;jsessionid=0123456789abcdef0123456789abcdef",
    "http://example.org/a?jsessionid=0123456789abcdef0123456789abcdef&b=1",
    "http://example.org/a?b=1&PHPSESSID=0123456789abcdef0123456789abcdef",
    "http://example.org/a?sid=0123456789abcdef0123456789abcdef",
    "http://example.org/a?cfid=1&cftoken=2&x=3",
    "http://example.org/a?ASPSESSIONIDABCDEFGH=abcdefghijklmnopqrstuvwx&x=3",
    "http://example.org/(S(abcdefghijklmnopqrstuvwx))/page.aspx?a=1",
    "http://example.org/A.HTML?Q=Upper",
    "http://example.org./a",
    "http://example.org/a?url=http://b.example/?c=d",
    "http://example.org/a?+b",
    "https://example.org:80/a",
]


@pytest.mark.parametrize("url", URLS)
def test_key_is_that_of_the_field(url: str) -> None:
    assert surt(url) == reference.surt(url)


def test_url_that_is_none_is_its_own_key() -> None:
    assert surt("http://[") == "http://["
    assert surt("urn:x") == "urn:x"


def entry(url: str, mime: str = "text/html") -> IndexEntry:
    return IndexEntry(url, datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC), mime, 200, "sha256:0", 10, 20, "data.warc.gz")


def test_line_has_key_time_and_facts() -> None:
    key, moment, facts = line(entry("http://b.example/")).rstrip("\n").split(" ", 2)
    assert (key, moment) == ("example,b)/", "20300131120000")
    assert json.loads(facts) == {
        "url": "http://b.example/",
        "mime": "text/html",
        "status": "200",
        "digest": "sha256:0",
        "length": "10",
        "offset": "20",
        "filename": "data.warc.gz",
    }
    assert '"mime"' not in line(entry("http://b.example/", mime=""))


def test_index_is_sorted_by_bytes() -> None:
    made = index([entry("http://b.example/z"), entry("http://b.example/B"), entry("http://a.example/")])
    assert [item.split(b" ")[0] for item in made.splitlines()] == [b"example,a)/", b"example,b)/b", b"example,b)/z"]


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [("text/html; charset=x", "text/html"), (" text/html ", "text/html"), ("", ""), ("a b", "a")],
)
def test_mime_has_no_parameters(content_type: str, expected: str) -> None:
    assert mime_of(content_type) == expected
