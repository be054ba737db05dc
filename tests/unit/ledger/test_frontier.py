"""Which links of a page may be followed."""

import pytest

from ledger.rules.frontier import MAX_LINKS_PER_PAGE, Link, followable, in_order, nofollow
from ledger.rules.robots_directives import RobotsDirective

PAGE = "http://a.example/dir/page"


@pytest.mark.parametrize(
    ("rel", "refused"),
    [
        (None, False),
        ("", False),
        ("nofollow", True),
        ("NoFollow", True),
        ("noopener NOFOLLOW\tugc", True),
        ("nofollow-me", False),
        ("xnofollow", False),
    ],
)
def test_nofollow_is_a_token_in_any_case(rel: str | None, refused: bool) -> None:
    assert nofollow(rel) is refused
    assert followable([Link("http://a.example/x", rel)], PAGE) == ([] if refused else ["http://a.example/x"])


@pytest.mark.parametrize(
    ("href", "urls"),
    [
        ("http://a.example/x#y", ["http://a.example/x"]),
        ("http://b.example/../x?b&a", ["http://b.example/../x?b&a"]),
        ("other", ["http://a.example/dir/other"]),
        ("/top", ["http://a.example/top"]),
        ("//c.example/x", ["http://c.example/x"]),
        ("#part", [PAGE]),
        ("  http://a.example/x\n", ["http://a.example/x"]),
        ("mailto:a@b.example", []),
        ("javascript:void(0)", []),
        ("data:text/html,x", []),
        ("ftp://a.example/x", []),
        ("http://", []),
        ("http://[::1/", []),
        ("http://me:secret@a.example/", []),
    ],
)
def test_followable_takes_web_pages_as_they_are_written(href: str, urls: list[str]) -> None:
    assert followable([Link(href)], PAGE) == urls


def test_page_that_says_nofollow_leads_nowhere() -> None:
    links = [Link("http://a.example/x")]
    assert followable(links, PAGE, [RobotsDirective("header", "nofollow")]) == []
    assert followable(links, PAGE, [RobotsDirective("header", "noindex")]) == ["http://a.example/x"]


def test_followable_keeps_document_order_and_each_url_once() -> None:
    hrefs = ["http://a.example/b", "http://a.example/a", "http://a.example/b#again", "http://a.example/c"]
    assert followable([Link(href) for href in hrefs], PAGE) == [
        "http://a.example/b",
        "http://a.example/a",
        "http://a.example/c",
    ]


def test_followable_is_bounded() -> None:
    links = (Link(f"http://a.example/{number}") for number in range(MAX_LINKS_PER_PAGE + 5))
    assert len(followable(links, PAGE)) == MAX_LINKS_PER_PAGE


def test_in_order_puts_pages_before_links() -> None:
    assert list(in_order([["b", "a"], [], ["c", "a"]])) == ["b", "a", "c", "a"]
