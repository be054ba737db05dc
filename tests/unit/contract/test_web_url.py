"""Which text is a URL to capture: each refusal beside what just passes."""

import pytest
from pydantic import TypeAdapter, ValidationError

from comity.contract.capture import WebUrl
from comity.contract.web_address import web_url

SPACES_AND_CONTROLS = [chr(number) for number in (*range(0x21), 0x7F)]


@pytest.mark.parametrize("character", SPACES_AND_CONTROLS, ids=ascii)
@pytest.mark.parametrize("url", ["{}http://a.test/", "http://a.{}test/", "http://a.test/{}", "http://a.test/?q=#{}b"])
def test_space_or_control_character_anywhere_is_refused(url: str, character: str) -> None:
    with pytest.raises(ValueError, match="no spaces or control characters; percent-encode them"):
        web_url(url.format(character))


@pytest.mark.parametrize(
    "character", ["!", "~", "%20", "%00", "\x80", "\xa0", "あ", "😀", '"', "<", "\\", "|"], ids=ascii
)
def test_any_other_character_is_accepted(character: str) -> None:
    url = f"http://a.test/{character}?{character}#{character}"
    assert web_url(url) == url


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "must begin with http:// or https://"),
        ("a.test/", "must begin with http:// or https://"),
        ("//a.test/", "must begin with http:// or https://"),
        ("ftp://a.test/", "must begin with http:// or https://"),
        ("javascript:alert(1)", "must begin with http:// or https://"),
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("http:a.test", "has no host"),
        ("http://", "has no host"),
        ("https:///path", "has no host"),
        ("http://:80/", "has no host"),
        ("http://user@/", "has no host"),
        ("http://a.test:65536/", "not a URL: Port out of range"),
        ("http://a.test:-1/", "not a URL: Port"),
        ("http://a.test:eighty/", "not a URL: Port could not be cast"),
        ("http://[::1/", "not a URL: Invalid IPv6 URL"),
    ],
)
def test_what_is_no_web_url_is_refused_with_its_reason(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        web_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test",
        "HTTPS://A.test/",
        "http://a.test:65535/",
        "http://a.test:/",
        "http://[::1]:80/",
        "http://user:password@a.test/",
        "http://例え.test/道?問=答",
        "http://127.0.0.2",
    ],
)
def test_web_url_is_given_back_as_it_is(url: str) -> None:
    assert web_url(url) == url


def test_url_may_have_so_many_characters_and_no_more() -> None:
    reads = TypeAdapter(WebUrl).validate_python
    longest = "http://a.test/" + "x" * (8192 - 14)
    assert reads(longest) == longest
    with pytest.raises(ValidationError, match="at most 8192 characters"):
        reads(longest + "x")
