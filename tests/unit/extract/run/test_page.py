"""How a page is read: text, inner HTML, and what is not part of it."""

from hypothesis import given
from hypothesis import strategies as st

from comity.extract.run.fragment import inner_html
from comity.extract.run.page import Page
from comity.extract.run.selectors import Selector
from tests.unit.extract.run.programs import collection, failure, field, result


def test_what_is_in_a_template_is_neither_selected_nor_read() -> None:
    html = "<div>a<template><p>t</p>u</template><p>b</p></div>"
    found = result(
        html, collection("rows", "p", field("t", None)), field("div", "div"), field("h", "div", value="html")
    )
    assert found.value == {
        "rows": [{"t": "b"}],
        "div": "ab",
        "h": "a<template><p>t</p>u</template><p>b</p>",
    }


def test_a_template_of_svg_is_an_element_like_others() -> None:
    assert result("<svg><template><a>x</a></template></svg>", field("t", "a")).value == {"t": "x"}


def test_noscript_is_text() -> None:
    assert result("<noscript><b>x</b></noscript>", field("t", "noscript")).value == {"t": "<b>x</b>"}


def test_inner_html_does_not_double_the_newline_of_pre() -> None:
    html = "<div><pre>\n\na</pre><textarea>\n\n<b></textarea><img alt='\"&nbsp;'><script>a<b</script><!--c--></div>"
    found = result(html, field("h", "div", value="html"))
    expected = '<pre>\na</pre><textarea>\n&lt;b&gt;</textarea><img alt="&quot;&nbsp;"><script>a<b</script><!--c-->'
    assert found.value == {"h": expected}


def test_declarative_shadow_roots_stay_templates() -> None:
    assert result("<div><template shadowrootmode=open>s</template>d</div>", field("t", "div")).value == {"t": "d"}


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert failure("<p>\ud800", field("t", "p")).code == "E_HTML_DECODE"
    assert result("<p>&#xd800;\0", field("t", "p")).value == {"t": "\ufffd"}


@given(
    st.lists(
        st.sampled_from(["<p a='1'>", "<b>", "</b>", "<svg>", "</svg>", "&lt;", "<!--x-->", "x\xa0", "<br>", "<td>"])
    )
)
def test_own_serializer_agrees_with_the_parsers_own(pieces: list[str]) -> None:
    page = Page("".join(pieces))
    body = page.select(page.root, Selector.of("body"))[0]
    assert inner_html(body) == body.inner_html
