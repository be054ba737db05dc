"""WARC/1.1 (ISO 28500:2017): one gzip member per record, so that every record can be read alone by its offset.

Record ids and dates come from the caller; the gzip header carries no time: equal records are equal bytes.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Literal, Protocol
from uuid import uuid4

RecordType = Literal["warcinfo", "response", "request", "metadata", "resource", "revisit"]
Truncation = Literal["length", "time", "disconnect", "unspecified"]
"""Why a block is shorter than what was served (ISO 28500, 5.13)."""

VERSION = b"WARC/1.1\r\n"
HTTP_RESPONSE = "application/http; msgtype=response"
HTTP_REQUEST = "application/http; msgtype=request"
WARC_FIELDS = "application/warc-fields"
GZIP_CONTAINER = 31
COMPRESSION_LEVEL = 6
STORED = 0
PROBED_BYTES = 16 * 1024
WORTH = 0.97
"""What is longer than a probe and does not shrink to this in it (pictures, films, archives, fonts) is stored: packing
it takes most of the time that an archive takes, and gains nothing."""
SLICE_BYTES = 1 << 20


def new_record_id() -> str:
    """A fresh `WARC-Record-ID`."""
    return f"<urn:uuid:{uuid4()}>"


def warc_date(moment: datetime) -> str:
    """An aware time as `WARC-Date` in UTC; milliseconds are allowed since WARC/1.1."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Large(Protocol):
    """Bytes that are not to be held at once. Read more than once, from the start each time; raises OSError."""

    def __len__(self) -> int: ...

    def pieces(self) -> Iterator[bytes]:
        """All of it, in slices."""


Payload = bytes | Large


def sha256_label(*parts: Payload) -> str:
    """`sha256:` and 64 hex digits over the parts in order."""
    digest = hashlib.sha256()
    for part in parts:
        for piece in _pieces(part):
            digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def fields(pairs: Iterable[tuple[str, str]]) -> bytes:
    """`application/warc-fields`: one `name: value` line per pair, line breaks inside values folded to spaces."""
    return b"".join(f"{name}: {_one_line(value)}\r\n".encode() for name, value in pairs)


@dataclass(frozen=True, slots=True)
class Record:
    """One record before it has a place.

    `head` and `payload` together are the block; the payload is what `WARC-Payload-Digest` covers (for HTTP records the
    body without its headers; None: the record has no payload of its own). `more` are further named fields, in order.
    """

    type: RecordType
    date: datetime
    content_type: str
    head: bytes
    payload: Payload | None = None
    target_uri: str | None = None
    record_id: str | None = None
    concurrent_to: str | None = None
    truncated: Truncation | None = None
    more: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a record went: its gzip member's offset and length in bytes."""

    record_id: str
    offset: int
    length: int
    payload_digest: str | None


class WarcWriter:
    """Appends records to a file that is open for writing bytes. Holds one record, of a large payload a slice."""

    def __init__(self, out: BinaryIO, *, make_id: Callable[[], str] = new_record_id) -> None:
        self._out = out
        self._make_id = make_id
        self._offset = 0

    def write(self, record: Record) -> Placed:
        """Writes one record as one gzip member and says where. Raises OSError as the file does."""
        record_id = record.record_id or self._make_id()
        payload = b"" if record.payload is None else record.payload
        payload_digest = None if record.payload is None else sha256_label(payload)
        head = _record_head(record, record_id, payload_digest)
        packer = zlib.compressobj(_level(payload), zlib.DEFLATED, GZIP_CONTAINER)
        start = self._offset
        for part in (head, record.head, payload, b"\r\n\r\n"):
            for piece in _pieces(part):
                self._put(packer.compress(piece))
        self._put(packer.flush())
        return Placed(record_id, start, self._offset - start, payload_digest)

    def _put(self, data: bytes) -> None:
        self._out.write(data)
        self._offset += len(data)


def _level(payload: Payload) -> int:
    if len(payload) <= PROBED_BYTES:
        return COMPRESSION_LEVEL
    first = next(_pieces(payload))
    # Of the middle: pictures and films begin with tables and names that say nothing of what follows.
    probe = first[len(first) // 2 :][:PROBED_BYTES]
    return COMPRESSION_LEVEL if len(zlib.compress(probe, 1)) < WORTH * len(probe) else STORED


def _pieces(part: Payload) -> Iterator[bytes | memoryview]:
    if isinstance(part, bytes):
        view = memoryview(part)
        return (view[at : at + SLICE_BYTES] for at in range(0, len(view), SLICE_BYTES))
    return iter(part.pieces())


def _one_line(value: str) -> str:
    return " ".join(value.split()) if any(mark in value for mark in "\r\n") else value


def _record_head(record: Record, record_id: str, payload_digest: str | None) -> bytes:
    payload = b"" if record.payload is None else record.payload
    named: list[tuple[str, str | None]] = [
        ("WARC-Type", record.type),
        ("WARC-Record-ID", record_id),
        ("WARC-Date", warc_date(record.date)),
        ("WARC-Target-URI", record.target_uri),
        ("WARC-Concurrent-To", record.concurrent_to),
        *record.more,
        ("WARC-Truncated", record.truncated),
        ("WARC-Block-Digest", sha256_label(record.head, payload)),
        ("WARC-Payload-Digest", payload_digest),
        ("Content-Type", record.content_type),
        ("Content-Length", str(len(record.head) + len(payload))),
    ]
    return VERSION + fields((name, value) for name, value in named if value is not None) + b"\r\n"
