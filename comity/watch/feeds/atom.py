"""The Atom Syndication Format (RFC 4287)."""

from xml.etree import ElementTree as ET

from comity.watch.feeds.entries import Entry, Feed, one_line, xml_bytes, xml_text

CONTENT_TYPE = "application/atom+xml; charset=utf-8"
_ATOM = "http://www.w3.org/2005/Atom"


def atom(feed: Feed) -> bytes:
    """The feed as UTF-8. Everything foreign in it is text."""
    root = ET.Element("feed", xmlns=_ATOM)
    _add(root, "id", feed.id)
    _add(root, "title", one_line(feed.title))
    if feed.description:
        _add(root, "subtitle", xml_text(feed.description))
    _add(root, "updated", feed.updated_at.isoformat())
    ET.SubElement(root, "link", rel="self", type="application/atom+xml", href=xml_text(feed.feed_url))
    if feed.home_url:
        ET.SubElement(root, "link", rel="alternate", href=xml_text(feed.home_url))
    author = ET.SubElement(root, "author")  # 4.1.1: a feed has one unless every entry has
    _add(author, "name", "Comity")
    for entry in feed.entries:
        root.append(_entry(entry))
    return xml_bytes(root)


def _entry(entry: Entry) -> ET.Element:
    element = ET.Element("entry")
    _add(element, "id", entry.id)
    _add(element, "title", one_line(entry.title))
    _add(element, "updated", entry.at.isoformat())
    _add(element, "published", entry.at.isoformat())
    ET.SubElement(element, "link", rel="alternate", href=xml_text(entry.url))
    _add(element, "summary", xml_text(entry.text))
    content = _add(element, "content", xml_text(entry.html))
    content.set("type", "html")
    return element


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    element = ET.SubElement(parent, name)
    element.text = text
    return element
