"""RSS 2.0 (rssboard.org, RSS 2.0.11), with the Atom link to itself that its profile recommends."""

from email.utils import format_datetime
from xml.etree import ElementTree as ET

from comity.watch.feeds.entries import Entry, Feed, one_line, xml_bytes, xml_text

CONTENT_TYPE = "application/rss+xml; charset=utf-8"


def rss(feed: Feed) -> bytes:
    """The feed as UTF-8. Everything foreign in it is text."""
    root = ET.Element("rss", {"version": "2.0", "xmlns:atom": "http://www.w3.org/2005/Atom"})
    channel = ET.SubElement(root, "channel")
    _add(channel, "title", one_line(feed.title))
    _add(channel, "link", xml_text(feed.home_url or feed.feed_url))  # the format wants one
    _add(channel, "description", xml_text(feed.description) or one_line(feed.title))
    _add(channel, "lastBuildDate", format_datetime(feed.updated_at))
    _add(channel, "generator", "Comity")
    ET.SubElement(channel, "atom:link", {"rel": "self", "type": "application/rss+xml", "href": xml_text(feed.feed_url)})
    for entry in feed.entries:
        channel.append(_item(entry))
    return xml_bytes(root)


def _item(entry: Entry) -> ET.Element:
    element = ET.Element("item")
    _add(element, "title", one_line(entry.title))
    _add(element, "link", xml_text(entry.url))
    _add(element, "guid", entry.id).set("isPermaLink", "false")
    _add(element, "pubDate", format_datetime(entry.at))
    _add(element, "description", xml_text(entry.html))
    return element


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    element = ET.SubElement(parent, name)
    element.text = text
    return element
