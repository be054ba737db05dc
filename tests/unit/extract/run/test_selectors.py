"""The portable profile: what it takes, what it refuses by which code, and what it selects."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.extract.profile.selectors import SelectorError, parse_selector
from comity.extract.run.matching import matching_elements
from comity.extract.run.page import Page
from comity.extract.run.selectors import Selector

PARTS = [
    "a", "#x", ".y", "[a]", "[a=b]", "[a='b c']", "[a=b i]", " ", ">", "+", "~", ",", ":not(", ")", ":first-child", "-",
    "1", ":nth-child(2n+1)", ":nth-child( odd )", ":hover", "::before", "|", "*", "\\", "/*", "é", ":", ":empty", "[",
    "=", "]",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "*", "a", "h1", "#main", ".entry.first", "[ a ~= 'x y' ]", '[a|="en"][b^="/"][c$=".html"][d*="x"]',
        "a b+c~d , e", "li:NTH-LAST-CHILD( -n + 3 )", "日本",
        "#x.y", "a > b + c ~ d e, f", "[a]", "[ a = 'x y' ]", "[a|=b]", "[a~=b][c^='d'][e$=f][g*=h]",
        "日本 > é",
        ":nth-child( 2N + 1 )", "p:nth-last-of-type(-n+3)", ":nth-of-type(odd)", "p:nth-child(5)", "li:NOT( .x )",
        "a:not([href])", "p:empty:first-child", " a , b ", "--x", "-a", "*:only-of-type",
    ],
)  # fmt: skip
def test_profile_takes(text: str) -> None:
    assert parse_selector(text)


@pytest.mark.parametrize(
    "text",
    [
        "::before", "p::first-line", "p:hover", ":has(a)", ":is(a, b)", ":where(a)", ":scope > a", ":not(a, b)",
        ":not(a b)",
        ":not(:not(a))", ":nth-child(2 of p)", "svg|a", "*|a", "|a", "[a|b]", "[*|a]", "[a=b i]", "[a='b' S]", r"a\:b",
        r'[a="\""]', "/* x */ a", "a /**/ b", "a || b", "a&b", "p:before", ":lang(en)",
        ":scope", ":is(a)", "a:has(b)", '[a="v" s]', r'[a="\22"]', "& a", "li:nth-child(2n of .a)",
    ],
)  # fmt: skip
def test_other_css_is_unsupported(text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert caught.value.code == "E_SELECTOR_UNSUPPORTED"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ",", "a,", "> a", "a >", "a > > b", "[a", "[a=1]", "[a~b]", "[a='b]",
        "1a", "#1a", ".1", "..", ":",
        "::",
        ":not()", ":not(a", ":nth-child", ":nth-child()", ":nth-child(x)", ":nth-child(n2)", ":nth-child(+ 2n)",
        ":first-child()", "a{}", "@a", "a!", ":is(a", "|", "a|", ",a", "a[", "[=b]", "[a=]", "a:nth-child(1",
        ":empty()", "a" * 5000,
        "-", "a\x00", "[a='\n']", ")",
    ],
)  # fmt: skip
def test_what_is_not_css_is_invalid(text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert caught.value.code == "E_SELECTOR_INVALID"


@given(st.text(alphabet="ab#.[]=\"'~|^$*>+ ,:()-1n\\/é\n", max_size=30))
def test_any_characters_are_a_selector_or_a_code_and_every_selector_runs(text: str) -> None:
    page = Page("<a b=1><b class=a>x</b></a>")
    with suppress(SelectorError):  # which has one of its two codes, or it could not be made
        page.select(page.root, Selector.of(text))


@given(st.lists(st.sampled_from(PARTS), max_size=6).map("".join))
def test_any_parts_are_a_selector_or_a_code_and_every_selector_runs(text: str) -> None:
    page = Page("<a b=1><b class=a>x</b></a>")
    with suppress(SelectorError):
        page.select(page.root, Selector.of(text))


def texts(html: str, selector: str) -> list[str]:
    page = Page(html)
    return [page.text(one) for one in page.select(page.root, Selector.of(selector))]


QUIRKS = "<p class='A b' id=I type=X lang=en-GB data-k='q\"\\'>1</p>"


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (".A", True), (".a", False), (".b", True), ("#I", True), ("#i", False), ("[type=X]", True), ("[type=x]", False),
        ("[TYPE]", True),
        ("P", True), ("[lang|=en]", True), ("[lang|=e]", False), ("[lang^=en]", True),
        ("[lang$=GB]", True),
        ("[lang*='-']", True), ("[lang^='']", False), ("[class~=b]", True),
        ("[class~='A b']", False),
        ("[class='A b']", True), ("[data-k^='q']", True), ("[data-k*='\"']", True),
    ],
)  # fmt: skip
def test_values_are_compared_exactly_also_without_a_doctype(selector: str, matches: bool) -> None:
    assert texts(QUIRKS, selector) == (["1"] if matches else [])


def test_results_are_in_document_order_and_each_once() -> None:
    assert texts("<i>1</i><b class=x>2</b><i class=x>3</i>", "b, .x, i") == ["1", "2", "3"]


def test_a_row_sees_its_ancestors_but_selects_below_itself() -> None:
    page = Page("<ul><li><b>1</b></li></ul><b>2</b>")
    row = page.select(page.root, Selector.of("li"))[0]
    assert [one.text for one in page.select(row, Selector.of("ul b"))] == ["1"]
    assert page.select(row, Selector.of("li")) == []


def test_empty_means_nothing_at_all_but_comments() -> None:
    html = "<p></p><p> </p><p><!-- c --></p><p><b></b></p><p>x</p>"
    page = Page(html)
    assert [one.inner_html for one in page.select(page.root, Selector.of("p:empty"))] == ["", "<!-- c -->"]
    assert len(page.select(page.root, Selector.of("p:not(:empty)"))) == 3
    assert texts(html, "p:empty + p:not(:empty) ~ p:not(:empty)") == ["", "x"]


def test_attributes_of_svg_keep_their_capitals() -> None:
    page = Page("<svg viewBox='0 0 1 1'></svg><p viewbox=1>")
    assert [one.tag for one in page.select(page.root, Selector.of("svg[viewBox='0 0 1 1']"))] == ["svg"]
    assert [one.tag for one in page.select(page.root, Selector.of("svg[viewBox]:not([viewBox^='1'])"))] == ["svg"]


PIECES = [
    "<div>",
    "</div>",
    "<p class=a>",
    "<b>",
    "</b>",
    "<i id=x>",
    "</i>",
    "<span class='a b'>",
    "</span>",
    "x",
    " ",
]
ASKED = [
    "div p", "div > p", "p + p", "p ~ b", "div p ~ b", "i ~ div b", ".a > .b", "div > p + b, i b", "p ~ div .a:not(.b)",
    "b:first-child i ~ span", "div ~ span > i ~ b", "p:nth-child(2n+1) b",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_exact_matching_agrees_with_the_parsers_own(pieces: list[str]) -> None:
    page = Page("".join(pieces))
    for text in ASKED:
        css = Selector.of(text).css
        assert css is not None
        assert set(page.root.select(css)) == matching_elements(page.root, parse_selector(text)), text
