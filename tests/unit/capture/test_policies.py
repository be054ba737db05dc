"""Policies over URLs and content types."""

import pytest

from comity.capture.policies import Policies
from comity.contract.capture import ContentTypePolicy, UrlPolicy


def policies(*pairs: tuple[str, str]) -> Policies:
    return Policies([UrlPolicy.model_validate({"pattern": p, "action": a}) for p, a in pairs], [])


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("*", "http://a.example/", True),
        ("http://a.example/", "http://a.example/", True),
        ("http://a.example/", "http://a.example/x", False),
        ("*/x", "http://a.example/x", True),
        ("*/x", "http://a.example/x?y", False),
        ("*.js?v=*", "http://a.example/a.js?v=1", True),
        ("*.js?v=*", "http://a.example/aXjs?v=1", False),
        ("*a?b*", "http://a.example/axb", False),
        ("*[x]*", "http://a.example/[x]", True),
        ("*[x]*", "http://a.example/x", False),
    ],
)
def test_glob_is_over_the_whole_url(pattern: str, url: str, matches: bool) -> None:
    assert (policies((pattern, "deny")).of_url(url) == "deny") is matches


def test_first_match_wins() -> None:
    chosen = policies(("*/keep/*", "no-body"), ("*", "deny"))
    assert chosen.of_url("http://a.example/keep/1") == "no-body"
    assert chosen.of_url("http://a.example/other") == "deny"
    assert policies().of_url("http://a.example/") is None


def test_only_deny_goes_to_the_browser_in_its_own_spelling() -> None:
    chosen = policies(("*/a?b", "deny"), ("*\\c", "deny"), ("*/d", "no-archive"))
    assert chosen.browser_patterns() == ["*/a\\?b", "*\\\\c"]


@pytest.mark.parametrize(
    ("content_type", "kept"), [("video/mp4", False), ("VIDEO/webm; x", False), ("text/html", True), ("", True)]
)
def test_content_type_prefix_leaves_the_body_out(content_type: str, kept: bool) -> None:
    chosen = Policies([], [ContentTypePolicy(prefix="video/", action="no-body")])
    assert chosen.keeps_body(content_type) is kept
    assert Policies([], []).keeps_body(content_type)


@pytest.mark.parametrize(
    ("pattern", "action", "may"),
    [
        ("*", "deny", True),
        ("*/chat", "deny", True),
        ("w*", "deny", True),
        ("ws*/chat", "deny", True),
        ("wss://a.example/*", "deny", True),
        ("ws://a.example/chat", "deny", True),
        ("*", "no-archive", False),
        ("http*", "deny", False),
        ("https://a.example/*", "deny", False),
        ("ws", "deny", False),
    ],
)
def test_sockets_may_be_denied_by_patterns_that_reach_them(pattern: str, action: str, may: bool) -> None:
    assert policies((pattern, action)).may_deny_sockets is may
