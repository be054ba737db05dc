"""The lines of a page: what a reader would read, bounded whatever the page."""

import pytest

from comity.watch.errors import BadWatchSettings
from comity.watch.rules.settings import ContentSettings, check
from comity.watch.rules.text import NothingThere, check_selector, field_lines, text_of, tidied

WHOLE = ContentSettings()


def lines_of(html: str, settings: ContentSettings = WHOLE) -> tuple[str, ...]:
    return text_of(html, settings).lines


def test_blocks_are_lines_and_white_space_is_collapsed() -> None:
    html = "<h1>Head</h1><p>One <b>two</b>\n three<br>four<ul><li>a<li>b</ul><pre>x\n  y</pre><div>z</div>tail"
    assert lines_of(html) == ("Head", "One two three", "four", "a", "b", "x", "y", "z", "tail")


def test_table_cells_and_captions_are_lines_of_their_own() -> None:
    html = "<table><caption>Cap</caption><tr><th>name<th>price<tr><td>tea<td>2.50</table>"
    assert lines_of(html) == ("Cap", "name", "price", "tea", "2.50")


def test_new_first_entry_of_an_ordered_list_changes_no_other_line() -> None:
    assert lines_of("<ol><li>new<li>a<li>b</ol>")[1:] == lines_of("<ol><li>a<li>b</ol>")


def test_what_nobody_sees_is_no_text() -> None:
    html = (
        "<title>T</title><style>s</style><script>c</script><template>t</template><textarea>a</textarea>"
        "<svg><text>v</text></svg><iframe>i</iframe><p hidden>h</p><p>seen"
    )
    found = text_of(html, WHOLE)
    assert (found.title, found.lines) == ("T", ("seen",))


def test_control_and_direction_marks_are_left_out_of_lines_and_titles() -> None:
    found = text_of("<title>a\u202eb</title><p>x\x1b[31my \u2066z", WHOLE)
    assert (found.title, found.lines) == ("ab", ("x[31my z",))


def test_selector_gives_outermost_matches_in_order_and_none_is_a_failure() -> None:
    html = "<p class=a>one<div class=a>two<p class=a>three</p></div><p>four"
    assert lines_of(html, ContentSettings(part="selector", selector=".a")) == ("one", "two", "three")
    with pytest.raises(NothingThere, match=r"nothing matches the selector '\.b'"):
        lines_of(html, ContentSettings(part="selector", selector=".b"))


@pytest.mark.parametrize("html", ["", "<p> </p>", "<script>x</script>"])
def test_page_without_text_is_a_failure_and_no_update(html: str) -> None:
    with pytest.raises(NothingThere, match="no text"):
        lines_of(html)


def test_long_text_is_cut_at_the_end_of_a_line() -> None:
    kept, truncated = tidied(["a" * 10, "b" * 10, "c" * 10], 25)
    assert (kept, truncated) == (("a" * 10, "b" * 10), True)
    assert tidied(["字" * 10], 8) == (("字字",), True)
    assert tidied(["a", "b"], 2) == (("a",), True)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "x",
        "<p>x y" * 200_000,
        "<p>" + "x y " * 500_000,
        "<table>" + "<tr><td>a<td>b" * 5_000 + "<tr><td>" + "x" * 100_000 + "<td>y",
        "<ul><li>x" * 20_000,
        "<blockquote>x" * 20_000,
    ],
    ids=["deep", "many lines", "one line", "table that would be padded", "nested lists", "nested quotes"],
)
def test_hostile_page_gives_no_more_than_is_kept(html: str) -> None:
    assert sum(len(line) + 1 for line in lines_of(html)) <= WHOLE.kept_bytes + 1


def test_fields_are_lines_named_by_their_place() -> None:
    fields = {"title": "Tea", "offers": [{"price": 2.5, "left": None}, {"price": 3}], "none": []}
    assert field_lines(fields) == [
        "title: Tea",
        "offers[0].price: 2.5",
        "offers[0].left: null",
        "offers[1].price: 3",
        "none: []",
    ]


def test_settings_that_cannot_work_are_refused_naming_their_field() -> None:
    check(ContentSettings(ignore=("^x$", "(?i)y")))
    check_selector("main > p:not(.x)")
    with pytest.raises(BadWatchSettings, match=r"ignore\.1: is not RE2"):
        check(ContentSettings(ignore=("ok", "(?=x)")))
    with pytest.raises(BadWatchSettings, match=r"ignore\.0: is too large"):
        check(ContentSettings(ignore=("[a-z]{900}[あ-ん]{900}[b-z]{900}[ア-ン]{900}",)))
    with pytest.raises(BadWatchSettings, match=r"watched\.selector"):
        check_selector("a[[")
