"""Reading bodies: what was packed is unpacked by our own hand, in small steps, and both sizes are counted meanwhile.

A client library would unpack a whole block at once, a thousand times its size.
"""

import asyncio
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import StreamReader

from comity.polite.answers import BodySink, GetLimits, Headers
from comity.polite.errors import UnreadableAnswerError

PIECE_BYTES = 64 * 1024
"""Unpacked content comes in pieces no longer than this, however small it was packed."""
PIECES_AT_ONCE = 16
"""After so many pieces of one block others have their turn, and the clock is looked at."""
ACCEPT_ENCODING = "gzip, deflate"
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 31, 15, -15


class TooLargeError(UnreadableAnswerError):
    """A body beyond a limit."""


def unpacker_for(headers: Headers) -> "Unpacker | None":
    """What undoes the answer's Content-Encoding; None: it is plain.

    Raises UnreadableAnswerError for a coding that was not asked for, and for more than one: each layer of a stack
    multiplies what a bomb unpacks to.
    """
    if "Content-Encoding" not in headers:
        return None
    named = ",".join(headers.get_all("Content-Encoding")).lower().split(",")
    layers = [each for part in named if (each := part.strip()) not in ("", "identity")]
    if not layers:
        return None
    if len(layers) > 1:
        raise UnreadableAnswerError(f"content-encoding {', '.join(layers)[:80]!r}: packed more than once")
    if layers[0] in _GZIP:
        return Unpacker()
    if layers[0] == "deflate":
        return Unpacker(gzip=False)
    raise UnreadableAnswerError(f"content-encoding {layers[0][:40]!r}, which was not asked for")


class Unpacker:
    """gzip (RFC 1952), or deflate as HTTP means it (RFC 1950) and as some servers send it (RFC 1951)."""

    def __init__(self, *, gzip: bool = True) -> None:
        self._gzip = gzip
        self._member = zlib.decompressobj(_GZIP_WINDOW) if gzip else None
        self._begun = False
        self._held = b""

    def pieces(self, block: bytes) -> Iterator[bytes]:
        """The block's content, at most `PIECE_BYTES` at a time. Raises UnreadableAnswerError."""
        member = self._member or self._deflate(block)
        if member is None:
            return
        block, self._held = self._held + block, b""
        piece = b""
        # A full piece may have more behind it inside, with nothing left to feed.
        while block or len(piece) == PIECE_BYTES:
            if member.eof:
                if not self._gzip or block[:1] != b"\x1f":  # padding behind the last member: readers pass over it
                    return
                self._member = member = zlib.decompressobj(_GZIP_WINDOW)
            self._begun = True
            try:
                piece = member.decompress(block, PIECE_BYTES)
            except zlib.error as error:
                raise UnreadableAnswerError(f"broken {'gzip' if self._gzip else 'deflate'}: {error}") from error
            block = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """Raises UnreadableAnswerError where the content ended before its packing did."""
        if self._held or (self._begun and self._member is not None and not self._member.eof):
            raise UnreadableAnswerError(f"the {'gzip' if self._gzip else 'deflate'} content ends too early")

    def _deflate(self, block: bytes) -> "zlib._Decompress | None":
        """The first two bytes tell the wrapped form; with one alone nobody knows yet."""
        start = self._held + block
        if len(start) < 2:
            self._held = start
            return None
        wrapped = start[0] & 0x0F == 8 and (start[0] << 8 | start[1]) % 31 == 0
        self._member = zlib.decompressobj(_ZLIB_WINDOW if wrapped else _RAW_WINDOW)
        return self._member


@dataclass(slots=True)
class Body:
    """One body being read. `raw_bytes` and `truncated` say how far it came."""

    limits: GetLimits
    sink: BodySink | None = None
    raw_bytes: int = 0
    truncated: bool = False
    _decoded_bytes: int = 0
    _enough: bool = False
    _kept: list[bytes] = field(default_factory=list)

    async def read(self, content: StreamReader, unpacker: Unpacker | None, announced: str | None) -> bytes:
        """All of it, or as much as the limits allow. `announced` is its Content-Length.

        Raises UnreadableAnswerError, TooLargeError, aiohttp's errors.
        """
        limits = self.limits
        if announced is not None and not limits.truncate and _size(announced) > limits.max_raw_bytes:
            raise TooLargeError(f"the body has {announced[:20]} bytes, over {limits.max_raw_bytes}")
        while block := await content.readany():
            self.raw_bytes += len(block)
            over_bytes = self.raw_bytes - limits.max_raw_bytes
            if over_bytes > 0:
                self._over(f"the body has over {limits.max_raw_bytes} bytes as it was sent")
                block = block[:-over_bytes]
            if unpacker is None:
                self._take(block)
            else:
                await self._unpack(unpacker, block)
            if self._enough or over_bytes > 0 or content.at_eof():
                break
        if unpacker is not None and not self.truncated:
            unpacker.finish()
        return self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)

    async def _unpack(self, unpacker: Unpacker, block: bytes) -> None:
        for number, piece in enumerate(unpacker.pieces(block), start=1):
            self._take(piece)
            if self._enough:
                return
            if number % PIECES_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _take(self, piece: bytes) -> None:
        room = self.limits.max_decoded_bytes - self._decoded_bytes
        if len(piece) > room:
            self._over(f"the body has over {self.limits.max_decoded_bytes} bytes unpacked")
            self._enough = True
            piece = piece[:room]
        self._decoded_bytes += len(piece)
        if self.sink is None:
            self._kept.append(piece)
        elif not all(self.sink.feed(piece[at : at + PIECE_BYTES]) for at in range(0, len(piece), PIECE_BYTES)):
            self.truncated = self._enough = True

    def _over(self, what: str) -> None:
        if not self.limits.truncate:
            raise TooLargeError(what)
        self.truncated = True


def _size(announced: str) -> int:
    """A Content-Length; 0 for what is none, which the reading itself will tell."""
    return int(announced[:20]) if announced.isascii() and announced.isdigit() else 0
