"""The CDXJ index of a WARC: one line per response, `{surt} {timestamp14} {json}`, sorted by bytes.

The places are known while the WARC is written, so the index costs nothing. Fields and their order are those of
`cdxj-indexer`, so that either can stand in for the other.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from comity.archive.request_query import WITH_BODY, with_query
from comity.archive.surt import surt

_MIME_END = re.compile(r"[;\s]")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index says about one response record. `digest` is the payload's, `sha256:…`."""

    url: str
    date: datetime
    mime: str
    status: int
    digest: str
    length: int
    offset: int
    filename: str
    method: str = "GET"
    query: str = ""
    """Of a POST or PUT: its body in canonical form (see `request_query`)."""


def timestamp14(moment: datetime) -> str:
    """`YYYYMMDDhhmmss` in UTC, as replay tools write it in their addresses."""
    return moment.astimezone(UTC).strftime("%Y%m%d%H%M%S")


def mime_of(content_type: str) -> str:
    """The media type without its parameters: `text/html; charset=x` is `text/html`."""
    return _MIME_END.split(content_type.strip(), maxsplit=1)[0]


def line(entry: IndexEntry) -> str:
    """One index line with its line feed."""
    facts: dict[str, str] = {"url": entry.url}
    if entry.mime:
        facts["mime"] = entry.mime
    facts |= {
        "status": str(entry.status),
        "digest": entry.digest,
        "length": str(entry.length),
        "offset": str(entry.offset),
        "filename": entry.filename,
    }
    key_url = entry.url
    if entry.method in WITH_BODY:
        facts |= {"requestBody": entry.query, "method": entry.method}
        key_url = with_query(entry.url, entry.method, entry.query)
    return f"{surt(key_url)} {timestamp14(entry.date)} {json.dumps(facts)}\n"


def index(entries: list[IndexEntry]) -> bytes:
    """The whole index, sorted by bytes, for binary search."""
    return b"".join(sorted(line(entry).encode("utf-8") for entry in entries))
