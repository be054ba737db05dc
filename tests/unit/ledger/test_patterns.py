"""Which links a crawl's patterns let through."""

import pytest

from ledger.rules.patterns import LinkPatterns, compiled

URL = "http://a.example/blog/2030/x?page=2"


@pytest.mark.parametrize(
    ("include", "exclude", "allowed"),
    [
        ([], [], True),
        (["/blog/"], [], True),
        (["/shop/"], [], False),
        (["/shop/", "[?]page="], [], True),
        (["^/blog/"], [], False),
        (["^http://a[.]example/blog/[0-9]+/"], [], True),
        (["/BLOG/"], [], False),
        (["(?i)/BLOG/"], [], True),
        (["page=2$"], [], True),
        (["blog$"], [], False),
        ([], ["[?]page="], False),
        ([], ["/shop/"], True),
        (["/blog/"], ["/shop/", "page"], False),
    ],
)
def test_link_matches_some_include_and_no_exclude(include: list[str], exclude: list[str], allowed: bool) -> None:
    assert LinkPatterns(include, exclude).allow(URL) is allowed


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a", "missing "),
        ("[z-a]", "invalid character class range: z-a"),
        ("(?=a)", r"invalid perl operator: \(\?="),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        ("(.{1000}x)", "too large"),
        ("\ud800", "Unicode"),
    ],
)
def test_what_re2_refuses_is_refused_in_its_words(pattern: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compiled(pattern)


def test_largest_plain_pattern_is_taken() -> None:
    assert compiled("x" * 1000).search("x" * 1000)


def test_pattern_that_backtracks_elsewhere_is_linear_here() -> None:
    assert not LinkPatterns(["^(a+)+$"], []).allow("a" * 2000 + "!")  # a backtracking engine would outlive us
