"""Small packages for tests of what is checked: our own writer's, and ones taken apart and put together wrongly."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from comity.archive import cdxj, wacz, warc

MOMENT = datetime(2030, 1, 31, 12, 0, 1, tzinfo=UTC)
URLS = ("http://a.example/", "http://a.example/picture")


def package(folder: Path, *, software: str = "comity 1", sign: wacz.Sign | None = None) -> bytes:
    """A whole WACZ of two responses, one request and one page."""
    entries: list[cdxj.IndexEntry] = []
    place = folder / "data.warc.gz"
    ids = iter(range(100))
    with place.open("wb") as out:
        writer = warc.WarcWriter(out, make_id=lambda: f"<urn:uuid:{next(ids):036d}>")
        writer.write(warc.Record("warcinfo", MOMENT, warc.WARC_FIELDS, b"software: test\r\n"))
        for url in URLS:
            entries.append(_response(writer, url))
        writer.write(
            warc.Record("request", MOMENT, warc.HTTP_REQUEST, b"GET / HTTP/1.1\r\n\r\n", b"", target_uri=URLS[0])
        )
    contents = wacz.Contents(
        warc=place,
        index=cdxj.index(entries),
        pages=(wacz.Page("p1", f"{URLS[0]}#top", MOMENT, "A page", "text"),),
        software=software,
        created=MOMENT,
    )
    packed = io.BytesIO()
    wacz.pack(contents, packed, sign)
    return packed.getvalue()


def _response(writer: warc.WarcWriter, url: str) -> cdxj.IndexEntry:
    body = f"body of {url}".encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    placed = writer.write(warc.Record("response", MOMENT, warc.HTTP_RESPONSE, head, body, target_uri=url))
    return cdxj.IndexEntry(
        url=url,
        date=MOMENT,
        mime="text/html",
        status=200,
        digest=placed.payload_digest or "",
        length=placed.length,
        offset=placed.offset,
        filename="data.warc.gz",
    )


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


class _Pipe(io.BytesIO):
    """What is written to goes away at once."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError


def repacked(contents: Mapping[str, bytes], *, deflate: frozenset[str] = frozenset(), piped: bool = False) -> bytes:
    """These members as another tool would pack them; `piped`: sizes and checksums behind them."""
    out = _Pipe() if piped else io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, data in contents.items():
            made.writestr(name, data, zipfile.ZIP_DEFLATED if name in deflate else zipfile.ZIP_STORED)
    return out.getvalue()


def rehashed(contents: Mapping[str, bytes], change: Callable[[dict[str, Any]], None] | None = None) -> dict[str, bytes]:
    """The members with `datapackage.json` and its digest made to agree with them: a lie that no hash gives away."""
    facts = json.loads(contents["datapackage.json"])
    for item in facts["resources"]:
        if item["path"] in contents:
            item |= {
                "hash": f"sha256:{sha256(contents[item['path']]).hexdigest()}",
                "bytes": len(contents[item["path"]]),
            }
    if change is not None:
        change(facts)
    described = json.dumps(facts).encode()
    digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(described).hexdigest()}"}
    return {
        **contents,
        "datapackage.json": described,
        "datapackage-digest.json": json.dumps(digest).encode(),
    }


def regions(data: bytes) -> dict[str, range]:
    """Where what lies in a ZIP: each member's header and content by its name, the directory, and its end."""
    found: dict[str, range] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        for info in opened.infolist():
            lengths = struct.unpack_from("<HH", data, info.header_offset + 26)
            content = info.header_offset + 30 + sum(lengths)
            found[f"header of {info.filename}"] = range(info.header_offset, content)
            found[f"content of {info.filename}"] = range(content, content + info.compress_size)
        end = data.rindex(b"PK\x05\x06")
        found["directory"] = range(opened.start_dir, end)
        found["end"] = range(end, len(data))
    return found
