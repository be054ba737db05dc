"""OPML 2.0 (opml.org/spec2.opml), as feed readers and bookmark tools write it.

Outlines around a page are its lists, by name. A page's address is `url` (outlines of type `link`), else `htmlUrl`,
which is the page that a feed belongs to, else `xmlUrl`. `category` gives labels. Entities are refused: a file of a
kilobyte could grow into gigabytes.
"""

import io
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from comity.watch.feeds.entries import xml_bytes, xml_text
from comity.watch.page_files.pages import FilePage, PagesRead, Reading

MAX_NESTED = 100
_ADDRESSES = ("url", "htmlUrl", "xmlUrl")


def read_opml(content: bytes) -> PagesRead:
    """Every page, in document order; one that is in several outlines is in the lists of all. Never raises."""
    reading = Reading()
    folders: list[str | None] = []
    count = 0
    try:
        for event, element in iterparse(io.BytesIO(content), events=("start", "end"), forbid_dtd=True):
            if element.tag != "outline":
                continue
            if event == "end":
                folders.pop()
                element.clear()
                continue
            if len(folders) == MAX_NESTED:
                reading.broken(0, f"outlines are nested more than {MAX_NESTED} deep")
                break
            url = next((element.get(name) for name in _ADDRESSES if element.get(name)), None)
            name = " ".join((element.get("text") or element.get("title") or "").split())
            if url is None:
                folders.append(name or None)
                continue
            count += 1
            lists = tuple(dict.fromkeys(folder for folder in folders if folder))
            folders.append(None)
            reading.add(FilePage(url.strip(), name, lists, _labels(element), count))
    except DefusedXmlException:
        reading.broken(0, "the file has a document type or entities, which are refused; OPML needs neither")
    except ET.ParseError as error:
        line, column = error.position
        reading.broken(line, f"no XML from line {line}, column {column} on; what came before it was read")
    except (ValueError, LookupError) as error:  # an encoding that is unknown or does not fit
        reading.broken(0, f"the file cannot be decoded: {error}")
    return reading.done()


def _labels(element: ET.Element) -> tuple[str, ...]:
    given = (element.get("category") or "").split(",")
    return tuple(dict.fromkeys(word for part in given if (word := part.strip().strip("/"))))


def write_opml(pages: Iterable[FilePage], title: str) -> bytes:
    """An outline for each list, in order of appearance; a page of several lists is in each, one of none at the top."""
    root = ET.Element("opml", version="2.0")
    ET.SubElement(ET.SubElement(root, "head"), "title").text = xml_text(title)
    body = ET.SubElement(root, "body")
    folders: dict[str, ET.Element] = {}
    for page in pages:
        for name in page.lists:
            if name not in folders:
                folders[name] = ET.SubElement(body, "outline", text=xml_text(name))
        for parent in [folders[name] for name in page.lists] or [body]:
            known = {"type": "link", "text": xml_text(page.title or page.url), "url": xml_text(page.url)}
            if page.labels:
                known["category"] = xml_text(",".join(page.labels))
            ET.SubElement(parent, "outline", known)
    ET.indent(root)
    return xml_bytes(root)
