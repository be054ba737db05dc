"""Feeds as a feed reader's library reads them."""

import json
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import feedparser
import pytest

from comity.watch.feeds import Entry, Feed, atom, json_feed, rss

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HOSTILE = '</title><script>alert(1)</script> & "quotes" \' ]]> \x00\x0b \ud800 日本'
HTML = "<p>was <del>&lt;script&gt;alert(1)&lt;/script&gt;</del> 日本</p>"


def feed(*entries: Entry) -> Feed:
    return Feed(
        id="tag:comity.example,2026:list/a1",
        title="My <antenna> & more",
        home_url="https://comity.example/lists/a1",
        feed_url="https://comity.example/feeds/x.atom?a=1&b=2",
        updated_at=AT,
        entries=entries,
        description="of pages",
    )


def entry(title: str = "A page", number: int = 1) -> Entry:
    return Entry(
        f"tag:comity.example,2026:event/{number}", title, "https://a.example/?x=1&y=2", AT, "- old\n+ new", HTML
    )


@pytest.mark.parametrize("form", [atom, rss])
def test_reader_gets_every_entry_with_its_diff(form: object) -> None:
    assert callable(form)
    read = feedparser.parse(form(feed(entry("First", 1), entry("Second", 2))))
    assert not read.bozo
    assert read.feed.title == "My &lt;antenna&gt; &amp; more" or read.feed.title == "My <antenna> & more"
    assert [one.title for one in read.entries] == ["First", "Second"]
    assert len({one.id for one in read.entries}) == 2
    first = read.entries[0]
    assert first.link == "https://a.example/?x=1&y=2"
    assert first.published_parsed[:5] == (2026, 3, 1, 12, 30)
    html = first.content[0].value if "content" in first else first.summary
    assert "<del>" in html
    assert "<script" not in html
    assert "日本" in html


@pytest.mark.parametrize("form", [atom, rss])
def test_hostile_title_stays_text(form: object) -> None:
    assert callable(form)
    content = form(feed(entry(HOSTILE)))
    root = ET.fromstring(content)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    titles = [element.text or "" for element in root.iter() if element.tag.endswith("title")]
    assert any('</title><script>alert(1)</script> & "quotes" \' ]]>' in title for title in titles)
    assert not feedparser.parse(content).bozo


def test_json_feed_has_the_fields_of_its_version() -> None:
    read = json.loads(json_feed(feed(entry(HOSTILE))))
    assert read["version"] == "https://jsonfeed.org/version/1.1"
    assert read["feed_url"] == "https://comity.example/feeds/x.atom?a=1&b=2"
    (item,) = read["items"]
    assert item["id"] == "tag:comity.example,2026:event/1"
    assert item["content_html"] == HTML
    assert item["date_published"] == "2026-03-01T12:30:00+00:00"


@pytest.mark.parametrize("form", [atom, rss])
def test_feed_without_entries_and_titles_without_text_are_readable(form: object) -> None:
    assert callable(form)
    assert not feedparser.parse(form(feed())).bozo
    read = feedparser.parse(form(feed(entry(" \n "))))
    assert read.entries[0].title == "(no title)"


def test_long_title_is_cut_to_a_line() -> None:
    read = feedparser.parse(atom(feed(entry("word\n" * 1000))))
    assert len(read.entries[0].title) <= 500
    assert read.entries[0].title.endswith("…")
