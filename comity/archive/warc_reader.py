"""Reads WARC records one after another, hashing while it reads: nothing is held but a record's headers.

For files of any maker: gzip members or plain, WARC/1.0 and 1.1. A record's digests are compared with what it tells;
what cannot be known (a revisit's payload, an unknown hash) counts as unchecked.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

GZIP_CONTAINER = 31
GZIP_MAGIC = b"\x1f\x8b"
SLICE_BYTES = 1 << 18
MOST_HEAD_BYTES = 4 * 1024 * 1024
END_OF_HEAD = b"\r\n\r\n"
_HASHES = frozenset({"md5", "sha1", "sha256", "sha384", "sha512"})


class BrokenWarcError(ValueError):
    """What follows cannot be told apart any more. The message says where."""


@dataclass(slots=True)
class RecordFacts:
    """A record as found. `offset` and `length` are of its place in the file, compressed or not."""

    offset: int
    length: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    checked: int = 0
    unchecked: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def type(self) -> str:
        return self.headers.get("warc-type", "")

    @property
    def url(self) -> str:
        return self.headers.get("warc-target-uri", "").strip("<>")

    @property
    def payload_digest(self) -> str:
        return self.headers.get("warc-payload-digest", "")


class _Pull:
    """Bytes on demand out of slices; for gzip, of one member at a time."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._raw = b""
        self._ready = bytearray()
        self._taken = 0
        self._packed: Any = None
        while len(self._raw) < len(GZIP_MAGIC) and (piece := next(self._pieces, b"")):
            self._raw += piece
        self._gzip = self._raw.startswith(GZIP_MAGIC)

    def begin(self) -> bool:
        """Goes to the next record; False at the end of the file."""
        if not self._gzip:
            return bool(self._ready) or self._more()
        if not self._raw and not self._fill_raw():
            return False
        self._packed = zlib.decompressobj(GZIP_CONTAINER)
        return True

    @property
    def place(self) -> int:
        """How far the file has been read, by whole records."""
        return self._taken if self._gzip else self._taken - len(self._ready)

    def until(self, mark: bytes) -> bytes:
        """Up to and with the mark."""
        searched = 0
        while (found := self._ready.find(mark, searched)) < 0:
            searched = max(0, len(self._ready) - len(mark))
            if len(self._ready) > MOST_HEAD_BYTES or not self._more():
                raise BrokenWarcError("its headers do not end")
        return self._cut(found + len(mark))

    def up_to(self, most: int) -> bytes:
        """At least one byte, at most so many; nothing at the end."""
        if not self._ready:
            self._more()
        return self._cut(min(most, len(self._ready)))

    def at_end(self) -> bool:
        """Whether the record's gzip member is over; a plain file tells by its next record."""
        return not self._gzip or (not self._ready and not self._more())

    def _cut(self, count: int) -> bytes:
        piece = bytes(self._ready[:count])
        del self._ready[:count]
        return piece

    def _fill_raw(self) -> bool:
        self._raw = next(self._pieces, b"")
        return bool(self._raw)

    def _more(self) -> bool:
        """Makes more bytes ready; False where there are none."""
        while True:
            if not self._gzip:
                self._ready += self._raw
                self._taken += len(self._raw)
                had = bool(self._raw)
                self._raw = b""
                if had:
                    return True
                if not self._fill_raw():
                    return False
                continue
            if self._packed.eof:
                return False
            if not self._raw and not self._fill_raw():
                raise BrokenWarcError("its gzip member is cut off")
            before = len(self._raw)
            try:
                out = self._packed.decompress(self._raw, SLICE_BYTES)
            except zlib.error as error:
                raise BrokenWarcError(f"its gzip member is damaged ({error})") from None
            self._raw = self._packed.unused_data if self._packed.eof else self._packed.unconsumed_tail
            self._taken += before - len(self._raw)
            self._ready += out
            if out:
                return True


def read_records(pieces: Iterable[bytes]) -> Iterator[RecordFacts]:
    """Every record in order. Raises BrokenWarcError, naming the offset, where the file cannot be read on."""
    pull = _Pull(pieces)
    while pull.begin():
        facts = RecordFacts(pull.place)
        try:
            _read(pull, facts)
        except BrokenWarcError as error:
            of = f" of {facts.url}" if facts.url else ""
            raise BrokenWarcError(f"the record{of} at offset {facts.offset}: {error}") from None
        facts.length = pull.place - facts.offset
        yield facts


def _read(pull: _Pull, facts: RecordFacts) -> None:
    head = pull.until(END_OF_HEAD)
    if not head.startswith(b"WARC/1."):
        raise BrokenWarcError("does not begin with WARC/1.")
    facts.headers.update(_headers(head))
    length = facts.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise BrokenWarcError("has no Content-Length")
    _hash_block(pull, facts, int(length))
    ending = b""
    while len(ending) < len(END_OF_HEAD) and (piece := pull.up_to(len(END_OF_HEAD) - len(ending))):
        ending += piece
    if ending != END_OF_HEAD:
        raise BrokenWarcError("its block does not end where Content-Length says")
    if not pull.at_end():
        raise BrokenWarcError("more than one record is in its gzip member: none can be read alone")


def _headers(head: bytes) -> dict[str, str]:
    named: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            named.setdefault(name.strip().lower(), value.strip())
    return named


def _hash_block(pull: _Pull, facts: RecordFacts, length: int) -> None:
    block = _Digest.told(facts.headers.get("warc-block-digest"))
    payload = _Digest.told(facts.payload_digest or None)
    http_head = facts.headers.get("content-type", "").replace(" ", "").startswith("application/http")
    waiting = bytearray() if http_head else None
    chunked = False
    left = length
    while left:
        piece = pull.up_to(min(left, SLICE_BYTES))
        if not piece:
            raise BrokenWarcError("its block is cut off")
        left -= len(piece)
        block.update(piece)
        if waiting is None:
            payload.update(piece)
            continue
        waiting += piece
        end = waiting.find(END_OF_HEAD, max(0, len(waiting) - len(piece) - 3))
        if end >= 0:
            chunked = b"transfer-encoding: chunked" in bytes(waiting[:end]).lower()
            payload.update(bytes(waiting[end + 4 :]))
            waiting = None
        elif len(waiting) > MOST_HEAD_BYTES:
            raise BrokenWarcError("its HTTP headers do not end")
    _compare("block", block, facts)
    unsure = chunked or waiting is not None  # the digest may be of the chunks taken apart; headers may end otherwise
    if facts.type == "revisit" or (unsure and not payload.holds):
        facts.unchecked += payload.given
    else:
        _compare("payload", payload, facts)


def _compare(what: str, digest: "_Digest", facts: RecordFacts) -> None:
    if digest.hasher is None:
        facts.unchecked += digest.given
    elif digest.holds:
        facts.checked += 1
    else:
        facts.problems.append(f"its {what} does not match its WARC-{what.title()}-Digest")


@dataclass(slots=True)
class _Digest:
    """What a record tells, and what its bytes give. No hasher: untold, or of an algorithm that is not known."""

    given: bool
    value: str
    hasher: Any

    @classmethod
    def told(cls, label: str | None) -> "_Digest":
        kind, _, value = (label or "").partition(":")
        known = kind.lower().replace("-", "")
        hasher = hashlib.new(known, usedforsecurity=False) if known in _HASHES else None
        return cls(bool(label), value.strip(), hasher)

    def update(self, data: bytes) -> None:
        if self.hasher is not None:
            self.hasher.update(data)

    @property
    def holds(self) -> bool:
        if self.hasher is None:
            return False
        found: bytes = self.hasher.digest()
        base32 = base64.b32encode(found).decode("ascii")
        return self.value.lower() == found.hex() or self.value.upper().rstrip("=") == base32.rstrip("=")
