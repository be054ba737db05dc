"""The index and the lists of pages: what replay looks up must be where it is told."""

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urldefrag

from comity.archive.surt import surt
from comity.archive.verify.container import Container
from comity.archive.verify.records import FOLDER, Found
from comity.archive.verify.steps import Step, failed, judged, skipped

PLAIN = (".cdx", ".cdxj")
PACKED = (".cdx.gz", ".cdxj.gz")
PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
REPLAYABLE = frozenset({"response", "revisit", "resource", "conversion", "metadata", "request"})


@dataclass(slots=True)
class Indexed:
    """What can be looked up: the URLs, their keys, and how many entries told it."""

    urls: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    responses: set[tuple[str, int]] = field(default_factory=set)
    entries: int = 0


def check_index(container: Container, found: Found) -> tuple[Indexed, Step]:
    """Every entry points at a whole record of its URL, with its digest, and entries are in order."""
    indexed = Indexed()
    problems: list[str] = []
    files = [name for name in container.members if name.startswith("indexes/") and name.endswith((*PLAIN, *PACKED))]
    if not files:
        return indexed, failed("index", "there is no index (.cdx, .cdxj) below indexes/")
    for name in files:
        last = b""
        try:
            for number, line in enumerate(_lines(container, name), start=1):
                if line < last:
                    problems.append(f"{name}, line {number}: is out of order, so that a search misses it")
                last = line
                problems += [f"{name}, line {number}: {said}" for said in _entry(line, found, indexed)]
        except (OSError, EOFError, zlib.error) as error:
            problems.append(f"{name}: cannot be unpacked ({error})")
    told = f"{indexed.entries} entries point at records of their URL"
    if found.responses > len(indexed.responses):
        told += f"; {found.responses - len(indexed.responses)} responses are not indexed"
    return indexed, judged("index", told, problems)


def check_pages(container: Container, indexed: Indexed) -> Step:
    """Every page in the lists can be looked up."""
    problems: list[str] = []
    count = 0
    lists = [name for name in PAGE_LISTS if name in container.members]
    if PAGE_LISTS[0] not in lists:
        return failed("pages", f"{PAGE_LISTS[0]} is missing: a reader has nowhere to begin")
    for name in lists:
        for number, line in enumerate(container.read(name).splitlines(), start=1):
            page = _json(line)
            if page is None:
                problems.append(f"{name}, line {number}: is not a JSON object")
            elif "url" in page:
                count += 1
                url = urldefrag(str(page["url"])).url
                if url not in indexed.urls and surt(url) not in indexed.keys:
                    problems.append(f"{name}, line {number}: {url} is not in the index")
    if not count and not problems:
        return skipped("pages", "the lists name no page")
    return judged("pages", "1 page, in the index" if count == 1 else f"{count} pages, each in the index", problems)


def _lines(container: Container, name: str) -> Iterator[bytes]:
    if name.endswith(PACKED):
        with gzip.open(io.BytesIO(container.read(name))) as unpacked:
            yield from (line.rstrip(b"\r\n") for line in unpacked)
    else:
        yield from _split(container.pieces(name))


def _split(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.rstrip(b"\r") for line in whole)
    if rest:
        yield rest


def _entry(line: bytes, found: Found, indexed: Indexed) -> list[str]:
    """What is wrong with one line; a good one is noted."""
    if not line or line.startswith((b" ", b"!")):
        return []  # an empty line, a header of the older format, or meta data
    key, _, rest = line.partition(b" ")
    facts = _json(rest.partition(b" ")[2])
    if facts is None:
        return ["is not `key timestamp {json}`"]
    indexed.entries += 1
    url, filename = str(facts.get("url", "")), str(facts.get("filename", "")).removeprefix(FOLDER)
    try:
        offset, length = int(facts.get("offset", -1)), int(facts.get("length", -1))
    except (TypeError, ValueError):
        return [f"{url}: its offset or length is no number"]
    place = found.places.get((filename, offset))
    if place is None:
        return [f"{url}: no record begins at offset {offset} of {filename}"]
    problems: list[str] = []
    if place.url != url:
        problems.append(f"{url}: the record there is of {place.url or 'no URL'}")
    if place.length != length and "length" in facts:
        problems.append(f"{url}: the record there has {place.length} bytes, told are {length}")
    if place.type not in REPLAYABLE:
        problems.append(f"{url}: the record there is a {place.type}")
    if place.payload_digest and facts.get("digest") and not _same(place.payload_digest, str(facts["digest"])):
        problems.append(f"{url}: its digest is not the record's")
    if not problems:
        indexed.urls.add(urldefrag(url).url)
        indexed.keys.add(key.decode("utf-8", "replace"))
        if place.type == "response":
            indexed.responses.add((filename, offset))
    return problems


def _same(one: str, other: str) -> bool:
    """Some indexers leave the algorithm out."""
    return one == other or (":" not in other and one.rpartition(":")[2] == other)


def _json(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
