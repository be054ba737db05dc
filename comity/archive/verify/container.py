"""The ZIP around it all: readable, told the same twice, and no byte of it unaccounted for.

A ZIP names each member in a header before its data and again in the directory at its end (APPNOTE.TXT, 4.3). No hash
covers either, so a change there is found by comparing them. What is told only once is checked where we know what we
write ourselves (`layout`), and counted elsewhere.
"""

import hashlib
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from comity.archive.verify.steps import Step, failed, judged
from comity.archive.verify.zip_records import (
    END,
    END_SIGNATURE,
    ENTRY,
    LOCAL,
    LOCAL_SIGNATURE,
    LOCATOR,
    MARK,
    SHORT_MARK,
    UTF_8_NAME,
    WIDE_END,
    WIDE_END_SIGNATURE,
    dos,
    told_wide,
)

SLICE_BYTES = 1 << 20
DESCRIPTOR_FOLLOWS = 0x08
STORED_FOLDERS = ("archive/", "indexes/")
STORED_ENDINGS = (".gz", ".warc", ".cdx", ".cdxj")


@dataclass(slots=True)
class Container:
    """An opened package: where each member's data lies, its bytes and its sha256 as found."""

    file: BinaryIO
    package: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]
    data_at: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Of the whole file."""
        return self.file.seek(0, 2)

    def at(self, place: int, size_bytes: int) -> bytes:
        """So many bytes of the file from there on; fewer at its end."""
        self.file.seek(place)
        return self.file.read(max(0, size_bytes))

    def read(self, name: str) -> bytes:
        """A member whole, as it is: damage is the zip step's to tell. For small members."""
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member's content in slices. What cannot be inflated ends early."""
        info = self.members[name]
        inflate = None if info.compress_type == zipfile.ZIP_STORED else zlib.decompressobj(-zlib.MAX_WBITS)
        at, left = self.data_at.get(name, 0), info.compress_size if name in self.data_at else 0
        while left:
            self.file.seek(at)
            piece = self.file.read(min(SLICE_BYTES, left))
            if not piece:
                return
            at, left = at + len(piece), left - len(piece)
            if inflate is None:
                yield piece
                continue
            while piece:
                try:
                    yield inflate.decompress(piece, SLICE_BYTES)
                except zlib.error:
                    return
                piece = inflate.unconsumed_tail


def open_container(file: BinaryIO) -> Container | Step:
    """The opened package, or the failed step that says why there is none."""
    try:
        package = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        return failed("zip", f"not a readable ZIP: {cut_off(file) or error}")
    return Container(file, package, {info.filename: info for info in package.infolist()})


def cut_off(file: BinaryIO) -> str:
    """What is said of a file that begins as a ZIP does and has no end record where one must be (4.3.16); else ""."""
    file.seek(0)
    begins = file.read(len(LOCAL_SIGNATURE)) == LOCAL_SIGNATURE
    size_bytes = file.seek(0, 2)
    file.seek(max(0, size_bytes - END.size - SHORT_MARK))
    ends = END_SIGNATURE in file.read()
    return "it begins like a ZIP, but its end is missing: it was cut off" if begins and not ends else ""


def check_zip(container: Container) -> Step:
    """Every member found, whole, and told the same in header and directory. Fills places, sizes and hashes."""
    infos = container.package.infolist()
    problems = _headers(container)
    for info in infos:
        if info.filename in container.data_at:
            problems += _read_whole(container, info)
    problems += _end(container)
    return judged("zip", f"{len(infos)} members, each whole", problems)


def directory_problems(container: Container) -> list[str]:
    """What headers, directory and its end show to be wrong, without a member being read: a few reads for each."""
    return [*_headers(container), *_end(container)]


def _headers(container: Container) -> list[str]:
    infos = container.package.infolist()
    problems = [f"{name}: is there twice" for name in sorted(_repeated(infos))]
    for info in infos:
        problems += _locate(container, info)
    return problems


def check_stored(container: Container, *, ours: bool) -> Step:
    """Records are read by range out of the ZIP, so what holds them is stored, not deflated (WACZ 1.1.1, 5)."""
    deflated = [name for name, info in container.members.items() if info.compress_type != zipfile.ZIP_STORED]
    wrong = [name for name in deflated if ours or _read_by_range(name)]
    if wrong:
        return failed("stored", "members are deflated that are read by range", wrong)
    more = f"; {len(deflated)} others are deflated, as they may be" if deflated else ""
    return judged("stored", f"archives and indexes are stored{more}", [])


def _repeated(infos: list[zipfile.ZipInfo]) -> set[str]:
    return {name for name, count in Counter(info.filename for info in infos).items() if count > 1}


def _read_by_range(name: str) -> bool:
    return name.startswith(STORED_FOLDERS) and name.endswith(STORED_ENDINGS)


def _locate(container: Container, info: zipfile.ZipInfo) -> list[str]:
    """Compares the two headers. Only what lies inside the file gets a place."""
    name = info.filename
    inside = 0 <= info.header_offset < container.package.start_dir  # a ZIP64 field may tell what no file can seek
    raw = container.at(info.header_offset, LOCAL.size) if inside else b""
    if len(raw) < LOCAL.size or raw[:4] != LOCAL_SIGNATURE:
        return [f"{name}: has no header where the directory says"]
    _, version, flags, method, time, date, crc, packed, size, name_bytes, extra_bytes = LOCAL.unpack(raw)
    given = container.file.read(name_bytes)
    start = info.header_offset + LOCAL.size + name_bytes + extra_bytes
    if start + info.compress_size > container.package.start_dir:
        return [f"{name}: reaches beyond the directory"]
    container.data_at[name] = start
    pairs: list[tuple[str, object, object]] = [
        ("flags", flags, info.flag_bits),
        ("method", method, info.compress_type),
        ("time and date", (time, date), dos(info)),
        ("name", given, _raw_name(info)),
    ]
    if not told_wide(info):  # else only the directory needs a reader of ZIP64
        pairs += [("version", version, info.extract_version | info.reserved << 8)]
    if not flags & DESCRIPTOR_FOLLOWS:
        pairs += [("checksum", crc, info.CRC)]
        pairs += [("packed size", packed, info.compress_size)] if packed != MARK else []
        pairs += [("size", size, info.file_size)] if size != MARK else []
    return [f"{name}: header and directory disagree on its {what}" for what, here, there in pairs if here != there]


def _read_whole(container: Container, info: zipfile.ZipInfo) -> list[str]:
    digest = hashlib.sha256()
    crc = size = 0
    for piece in container.pieces(info.filename):
        digest.update(piece)
        crc = zlib.crc32(piece, crc)
        size += len(piece)
    container.hashes[info.filename] = digest.hexdigest()
    container.sizes[info.filename] = size
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return [f"{info.filename}: is packed by method {info.compress_type}; only stored and deflated are read"]
    if size != info.file_size:
        return [f"{info.filename}: has {size} bytes, told are {info.file_size}"]
    return [f"{info.filename}: its content does not match its checksum"] if crc != info.CRC else []


def _end(container: Container) -> list[str]:
    """The records at the very end (4.3.14 to 4.3.16): counts, and where the directory lies."""
    start, at = container.package.start_dir, directory_end(container)
    behind = container.at(at, container.size_bytes - at)
    is_wide = behind.startswith(WIDE_END_SIGNATURE)
    own = behind[WIDE_END.size + LOCATOR.size if is_wide else 0 :]
    if len(own) < END.size or own[:4] != END_SIGNATURE:
        return ["the directory's entries do not add up to its end"]
    count = len(container.package.infolist())
    found = (0, 0, count, count, at - start, start)
    *told, comment_bytes = END.unpack_from(own)[1:]
    agree = all(one == other or (is_wide and one in (MARK, SHORT_MARK)) for one, other in zip(told, found, strict=True))
    if not agree or comment_bytes != len(own) - END.size:
        return ["the directory's end record does not match the directory"]
    if is_wide and WIDE_END.unpack_from(behind)[4:] != found:
        return ["the directory's ZIP64 end record does not match the directory"]
    return []


def directory_end(container: Container) -> int:
    """Where the directory ends by the lengths that its entries tell."""
    at = container.package.start_dir
    for _ in container.package.infolist():
        raw = container.at(at, ENTRY.size)
        if len(raw) < ENTRY.size:
            return at
        at += ENTRY.size + sum(ENTRY.unpack(raw)[11:14])
    return at


def unvouched_bytes(container: Container) -> int:
    """How many bytes are neither a member's content nor a record's fixed fields: extra fields, comments, gaps."""
    infos = container.package.infolist()
    names = sum(len(_raw_name(info)) for info in infos)
    known = sum(info.compress_size + LOCAL.size + ENTRY.size for info in infos) + 2 * names + END.size
    end = directory_end(container)
    is_wide = container.at(end, 4) == WIDE_END_SIGNATURE
    return container.size_bytes - known - (WIDE_END.size + LOCATOR.size if is_wide else 0)


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF_8_NAME else "cp437")
