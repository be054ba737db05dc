"""A host means to the browser what it says, and a path is judged as it is asked for."""

import pytest

from comity.contract.web_address import browser_path, is_loopback, web_url


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/x",
        "http://[::1]/",
        "http://[2001:DB8::1]:8080/",
        "HTTP://A.Example./",
        "http://bücher.example/",
        "http://日本。example/",
        "http://a.example/a\\b",
        "http://1.example/",
        "http://0xff.example/",
        "http://me:secret@a.example/",
    ],
)
def test_host_that_a_browser_reads_alike_is_taken_as_it_is(url: str) -> None:
    assert web_url(url) == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://2130706433/", "four decimal"),
        ("http://127.1:8080/", "four decimal"),
        ("http://0x7f.0.0.1/", "four decimal"),
        ("http://127.0.0.0x1/", "four decimal"),
        ("http://0177.0.0.1/", "four decimal"),
        ("http://127.0.0.1.2/", "four decimal"),
        ("http://256.256.256.256/", "four decimal"),
        ("http://１２７.1/", "four decimal"),
        ("http://a.example\\@b.example/", "backslash"),
        ("http://a.example\\b/", "backslash"),
        ("http://%61.example/", "percent"),
        ("http://[fe80::1%25eth0]/", "IPv6"),
        ("http://[v1.a]/", "IPv6"),
        ("http://\u202ea.example/", "DNS"),
        ("http://ä..example/", "DNS"),
    ],
)
def test_host_that_a_browser_reads_otherwise_is_refused(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        web_url(url)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", "/"),
        ("/", "/"),
        ("/a", "/a"),
        ("/a/", "/a/"),
        ("/a//b", "/a//b"),
        ("/a/./b", "/a/b"),
        ("/a/.", "/a/"),
        ("/a/..", "/"),
        ("/a/b/../c", "/a/c"),
        ("/a/b/..", "/a/"),
        ("/../a", "/a"),
        ("/a/%2e%2E/b", "/b"),
        ("/a\\..\\b", "/b"),
        ("/a/.../b", "/a/.../b"),
        ("/a%2fb", "/a%2fb"),
    ],
)
def test_path_is_what_a_browser_asks_for(path: str, asked: str) -> None:
    assert browser_path(path) == asked


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_alone_is_told_apart(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "x", "localhost.example", ""])
def test_what_others_reach_is_no_loopback(host: str) -> None:
    assert not is_loopback(host)
