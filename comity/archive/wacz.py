"""WACZ 1.1.1: a ZIP of a WARC, its index, its pages, and a data package that hashes them all.

Everything is stored, not deflated: replay tools read single records by range out of the ZIP. The WARC is copied in
slices; nothing is held whole.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

WACZ_VERSION = "1.1.1"
PROFILE = "data-package"
WARC_NAME = "data.warc.gz"
"""As the index names it; its path in the package is `archive/data.warc.gz`."""
INDEX_PATH = "indexes/index.cdx"
"""The one name that both pywb and ReplayWeb.page take for a plain index."""
PAGES_PATH = "pages/pages.jsonl"
SLICE_BYTES = 1 << 20
EARLIEST_ZIP_YEAR = 1980


@dataclass(frozen=True, slots=True)
class Page:
    """A line of `pages.jsonl`: where a reader starts."""

    page_id: str
    url: str
    date: datetime
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A further file of the package. `path` has one folder and lower-case letters: validators accept no other."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Contents:
    """What goes into a package. `facts` become members of `datapackage.json` beside the standard ones."""

    warc: Path
    index: bytes
    pages: tuple[Page, ...]
    software: str
    created: datetime
    title: str | None = None
    extra: tuple[Member, ...] = ()
    facts: Mapping[str, Any] | None = None


def pages_jsonl(pages: Iterable[Page]) -> bytes:
    """`pages.jsonl`: the header line that the format demands, then one line per page."""
    listed = list(pages)
    header = {
        "format": "json-pages-1.0",
        "id": "pages",
        "title": "All Pages",
        "hasText": any(page.text for page in listed),
    }
    lines: list[dict[str, Any]] = [header]
    for page in listed:
        entry: dict[str, Any] = {"id": page.page_id, "url": page.url, "ts": _second(page.date)}
        if page.title:
            entry["title"] = page.title
        if page.text:
            entry["text"] = page.text
        lines.append(entry)
    return b"".join(_utf8(json.dumps(entry, ensure_ascii=False)) + b"\n" for entry in lines)


Sign = Callable[[str], Mapping[str, Any]]
"""From the hash of `datapackage.json` (`sha256:…`) to `signedData`."""


def pack(contents: Contents, out: BinaryIO, sign: Sign | None = None) -> str:
    """Writes the package and returns the hash of its `datapackage.json` (`sha256:…`), which is what `sign` is given.

    Raises OSError as the files do, and what `sign` raises. The caller gives `out` its final name once this has
    returned.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        resources = [
            _copy(archive, f"archive/{WARC_NAME}", contents.warc, contents.created),
            _put(archive, INDEX_PATH, contents.index, contents.created),
            _put(archive, PAGES_PATH, pages_jsonl(contents.pages), contents.created),
            *(_put(archive, member.path, member.data, contents.created) for member in contents.extra),
        ]
        package = _json(_datapackage(contents, resources))
        _put(archive, "datapackage.json", package, contents.created)
        digest = f"sha256:{hashlib.sha256(package).hexdigest()}"
        told: dict[str, Any] = {"path": "datapackage.json", "hash": digest}
        if sign is not None:
            told["signedData"] = dict(sign(digest))
        _put(archive, "datapackage-digest.json", _json(told), contents.created)
    return digest


def _datapackage(contents: Contents, resources: list[dict[str, Any]]) -> dict[str, Any]:
    package: dict[str, Any] = {
        "profile": PROFILE,
        "wacz_version": WACZ_VERSION,
        "software": contents.software,
        "created": _second(contents.created),
        "modified": _second(contents.created),
    }
    if contents.title:
        package["title"] = contents.title
    if contents.pages:
        package["mainPageUrl"] = contents.pages[0].url
        package["mainPageDate"] = _second(contents.pages[0].date)
    package["resources"] = resources
    return package | dict(contents.facts or {})


def _copy(archive: zipfile.ZipFile, path: str, source: Path, moment: datetime) -> dict[str, Any]:
    """Streams a file in. Its size is told beforehand, so that only one near 4 GiB gets a ZIP64 field.

    Players look for a member's data 30 bytes and a name behind its header; where a ZIP64 field stands between, they
    read 20 bytes beside the record and say that the page is not in the archive.
    """
    digest = hashlib.sha256()
    size = 0
    info = _info(path, moment)
    info.file_size = source.stat().st_size
    with source.open("rb") as data, archive.open(info, "w") as member:
        while piece := data.read(SLICE_BYTES):
            digest.update(piece)
            size += len(piece)
            member.write(piece)
    return _resource(path, digest.hexdigest(), size)


def _put(archive: zipfile.ZipFile, path: str, data: bytes, moment: datetime) -> dict[str, Any]:
    with archive.open(_info(path, moment), "w") as member:
        member.write(data)
    return _resource(path, hashlib.sha256(data).hexdigest(), len(data))


def _resource(path: str, digest: str, size: int) -> dict[str, Any]:
    return {"name": path.rpartition("/")[2], "path": path, "hash": f"sha256:{digest}", "bytes": size}


def zip_time(moment: datetime) -> tuple[int, int, int, int, int, int]:
    """A moment as the ZIP's headers tell it, in UTC. They know no year before 1980."""
    utc = moment.astimezone(UTC)
    return max(EARLIEST_ZIP_YEAR, utc.year), utc.month, utc.day, utc.hour, utc.minute, utc.second


def _info(path: str, moment: datetime) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, zip_time(moment))
    info.compress_type = zipfile.ZIP_STORED
    info.external_attr = 0o644 << 16
    return info


def _json(value: Mapping[str, Any]) -> bytes:
    return _utf8(json.dumps(value, ensure_ascii=False, indent=2))


def _utf8(text: str) -> bytes:
    """Titles and texts are a page's own: half of a surrogate pair among them must not cost the archive."""
    return text.encode("utf-8", "replace")


def _second(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
