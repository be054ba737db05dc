"""Lists of pages in the files that people have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.watch.page_files import (
    FilePage,
    read_csv,
    read_opml,
    read_urls,
    write_csv,
    write_opml,
    write_urls,
)

TITLES = st.text("aZ7äあ文😀'\"=+-@<>&,;#%", max_size=20)
NAMES = st.text("aZ7äあ文😀'=&<", min_size=1, max_size=8)


@st.composite
def file_pages(draw: st.DrawFn) -> list[FilePage]:
    numbers = draw(st.lists(st.integers(0, 99), unique=True, max_size=6))
    names = st.lists(NAMES, unique=True, max_size=3).map(tuple)
    return [FilePage(f"https://a.example/{n}?q=1&b=%20", draw(TITLES), draw(names), draw(names)) for n in numbers]


def bare(pages: tuple[FilePage, ...]) -> set[tuple[str, str, frozenset[str], tuple[str, ...]]]:
    return {(page.url, page.title, frozenset(page.lists), page.labels) for page in pages}


@given(file_pages())
def test_csv_gives_back_what_was_written(pages: list[FilePage]) -> None:
    read = read_csv(write_csv(pages))
    assert not read.problems
    assert bare(read.pages) == bare(tuple(pages))


@given(file_pages())
def test_opml_gives_back_what_was_written(pages: list[FilePage]) -> None:
    read = read_opml(write_opml(pages, "mine"))
    assert not read.problems
    titled = tuple(FilePage(page.url, page.title or page.url, page.lists, page.labels) for page in pages)
    assert bare(read.pages) == bare(titled)


def test_urls_are_read_with_titles_comments_and_blank_lines() -> None:
    read = read_urls(
        "\ufeff# mine\n\nhttps://a.example/ The first  page\r\n  http://b.example:8080/x\nhttps://a.example/\n"
    )
    assert [(page.url, page.title, page.line) for page in read.pages] == [
        ("https://a.example/", "The first  page", 3),
        ("http://b.example:8080/x", "", 4),
    ]
    assert read_urls(write_urls(read.pages)).pages[1].url == "http://b.example:8080/x"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://a.example/", "not an http(s) address"),
        ("/just/a/path", "not an http(s) address"),
        ("javascript:alert(1)", "not an http(s) address"),
        ("http://", "not an http(s) address"),
        ("http://[::1", "not an address"),
        ("http://a.example:99999/", "not an address"),
        ("https://me:secret@a.example/", "user name or password"),
        ("https://a.example/" + "x" * 9000, "longer than"),
        ("https://a.example/\x00", "control character"),
    ],
)
def test_address_that_cannot_be_watched_is_named_and_the_rest_is_read(url: str, says: str) -> None:
    read = read_csv(write_csv([FilePage(url), FilePage("https://good.example/")]))
    assert [page.url for page in read.pages] == ["https://good.example/"]
    assert read.left_out == 1
    assert says in read.problems[0].reason
    assert "secret" not in read.problems[0].reason


def test_csv_without_a_url_column_says_what_a_header_is() -> None:
    read = read_csv("https://a.example/,A\n")
    assert read.broken
    assert "`url,title,lists,labels`" in read.problems[0].reason


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_of_any_usual_delimiter_and_column_order(delimiter: str) -> None:
    read = read_csv(f"Title{delimiter}URL\nA{delimiter}https://a.example/\n\n")
    assert [(page.url, page.title) for page in read.pages] == [("https://a.example/", "A")]


def test_spreadsheet_is_given_no_formula_and_the_title_comes_back() -> None:
    page = FilePage("https://a.example/", "=HYPERLINK(1)")
    written = write_csv([page])
    assert ",'=HYPERLINK" in written
    assert read_csv(written).pages[0].title == "=HYPERLINK(1)"


def test_opml_of_a_feed_reader_gives_its_sites_in_their_folders() -> None:
    read = read_opml(
        b"""<?xml version="1.0"?><opml version="1.0"><head><title>x</title></head><body>
        <outline text="News"><outline text="Deep"><outline type="rss" text="A &amp; B" category="/x,y"
          xmlUrl="https://a.example/feed" htmlUrl="https://a.example/"/>
        </outline></outline>
        <outline type="rss" title="only a feed" xmlUrl="https://b.example/feed"/>
        <outline type="link" text="again" url="https://a.example/"/>
        <outline text="bad" url="mailto:x@y"/></body></opml>"""
    )
    assert [(page.url, page.title, page.lists, page.labels) for page in read.pages] == [
        ("https://a.example/", "A & B", ("News", "Deep"), ("x", "y")),
        ("https://b.example/feed", "only a feed", (), ()),
    ]
    assert read.left_out == 1
    assert not read.broken


BOMB = (
    b'<!DOCTYPE o [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    b'<opml><body><outline text="&b;" url="http://a.example/"/></body></opml>'
)
EXTERNAL = b'<!DOCTYPE o SYSTEM "file:///etc/passwd"><opml><body><outline url="http://a.example/"/></body></opml>'


@pytest.mark.parametrize("content", [BOMB, EXTERNAL])
def test_opml_with_entities_is_refused(content: bytes) -> None:
    read = read_opml(content)
    assert read.broken
    assert not read.pages
    assert "entities, which are refused" in read.problems[0].reason


def test_broken_opml_gives_what_came_before_the_place() -> None:
    read = read_opml(b'<opml><body><outline url="http://a.example/"/>\n<outline url="http://b.example/"')
    assert [page.url for page in read.pages] == ["http://a.example/"]
    assert read.broken
    assert "line 2" in read.problems[0].reason


def test_opml_of_100_000_pages_is_read_whole() -> None:
    outlines = b"".join(b'<outline url="http://a.example/%d"/>' % n for n in range(100_000))
    read = read_opml(b"<opml><body>" + outlines + b"</body></opml>")
    assert len(read.pages) == 100_000


def test_opml_nested_without_end_is_refused() -> None:
    read = read_opml(b"<opml><body>" + b"<outline text='x'>" * 5_000)
    assert read.broken
    assert "nested" in read.problems[0].reason


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    read_opml(content)
    read_opml(b"<opml><body><outline url='http://a.example/'" + content)
    text = content.decode("latin-1")
    read_csv(text)
    read_csv("url,title\n" + text)
    read_urls(text)
