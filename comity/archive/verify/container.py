"""The ZIP around it all: readable, told the same twice, and no byte of it unaccounted for.

A ZIP names each member in a header before its data and again in the directory at its end (APPNOTE.TXT, 4.3). No hash
covers either, so a change there is found by comparing them. What is told only once is checked where we know what we
write ourselves.
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

SLICE_BYTES = 1 << 20
LOCAL = struct.Struct("<4sHHHHHIIIHH")
END = struct.Struct("<4sHHHHIIH")
ENTRY_BYTES, ENTRY_LENGTHS_AT, ENTRY_LENGTHS = 46, 28, struct.Struct("<HHH")
END_SIGNATURE, ZIP64_END_SIGNATURE = b"PK\x05\x06", b"PK\x06\x06"
DESCRIPTOR_FOLLOWS = 0x08
ZIP64_MARK = 0xFFFFFFFF
OUR_SYSTEM, OUR_VERSIONS, OUR_ATTRIBUTES = 3, (20, 45), 0o644 << 16
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
        return failed("zip", f"not a readable ZIP: {error}")
    return Container(file, package, {info.filename: info for info in package.infolist()})


def check_zip(container: Container) -> Step:
    """Every member found, whole, and told the same in header and directory. Fills places, sizes and hashes."""
    infos = container.package.infolist()
    problems = [f"{name}: is there twice" for name in sorted(_repeated(infos))]
    for info in infos:
        problems += _locate(container, info)
    for info in infos:
        if info.filename in container.data_at:
            problems += _read_whole(container, info)
    problems += _end(container)
    return judged("zip", f"{len(infos)} members, each whole", problems)


def check_stored(container: Container, *, ours: bool) -> Step:
    """Records are read by range out of the ZIP, so what holds them is stored, not deflated (WACZ 1.1.1, 5)."""
    deflated = [name for name, info in container.members.items() if info.compress_type != zipfile.ZIP_STORED]
    wrong = [name for name in deflated if ours or _read_by_range(name)]
    if wrong:
        return failed("stored", "members are deflated that are read by range", wrong)
    more = f"; {len(deflated)} others are deflated, as they may be" if deflated else ""
    return judged("stored", f"archives and indexes are stored{more}", [])


def check_layout(container: Container) -> list[str]:
    """What is wrong with a container that says it is ours: facts told once, which our writer always tells alike."""
    problems: list[str] = []
    place = 0
    for info in sorted(container.package.infolist(), key=lambda one: one.header_offset):
        told = (info.create_system, info.external_attr, info.internal_attr, info.volume, info.comment)
        if told != (OUR_SYSTEM, OUR_ATTRIBUTES, 0, 0, b"") or info.create_version not in OUR_VERSIONS:
            problems.append(f"{info.filename}: its directory entry is not as it was written")
        if info.header_offset != place:
            problems.append(f"{info.filename}: {info.header_offset - place} bytes before it belong to no member")
        place = container.data_at.get(info.filename, 0) + info.compress_size
    if place != container.package.start_dir:
        problems.append(f"{container.package.start_dir - place} bytes before the directory belong to no member")
    return problems


def _repeated(infos: list[zipfile.ZipInfo]) -> set[str]:
    return {name for name, count in Counter(info.filename for info in infos).items() if count > 1}


def _read_by_range(name: str) -> bool:
    return name.startswith(STORED_FOLDERS) and name.endswith(STORED_ENDINGS)


def _locate(container: Container, info: zipfile.ZipInfo) -> list[str]:
    """Compares the two headers. Only what lies inside the file gets a place."""
    name = info.filename
    container.file.seek(max(0, info.header_offset))
    raw = container.file.read(LOCAL.size)
    if info.header_offset < 0 or len(raw) < LOCAL.size or raw[:4] != b"PK\x03\x04":
        return [f"{name}: has no header where the directory says"]
    _, version, flags, method, time, date, crc, packed, size, name_bytes, extra_bytes = LOCAL.unpack(raw)
    given = container.file.read(name_bytes)
    start = info.header_offset + LOCAL.size + name_bytes + extra_bytes
    if start + info.compress_size > container.package.start_dir:
        return [f"{name}: reaches beyond the directory"]
    container.data_at[name] = start
    year, month, day, hour, minute, second = info.date_time
    pairs: list[tuple[str, object, object]] = [
        ("version", version, info.extract_version | info.reserved << 8),
        ("flags", flags, info.flag_bits),
        ("method", method, info.compress_type),
        ("time", time, hour << 11 | minute << 5 | second // 2),
        ("date", date, (year - 1980) << 9 | month << 5 | day),
        ("name", given, info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")),
    ]
    if not flags & DESCRIPTOR_FOLLOWS:
        pairs += [("checksum", crc, info.CRC)]
        pairs += [("packed size", packed, info.compress_size)] if packed != ZIP64_MARK else []
        pairs += [("size", size, info.file_size)] if size != ZIP64_MARK else []
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
    """The record at the very end (4.3.16): counts, and where the directory lies."""
    comment = container.package.comment
    size = container.file.seek(0, 2)
    at = size - END.size - len(comment)
    container.file.seek(max(0, at))
    raw = container.file.read(END.size)
    if len(raw) < END.size or raw[:4] != END_SIGNATURE:
        return ["the file does not end with a directory's end record"]
    _, disk, first_disk, here, entries, packed, offset, comment_bytes = END.unpack(raw)
    if _after_directory(container) not in (at, -1):
        return ["the directory's entries do not add up to its end"]
    if entries == 0xFFFF or ZIP64_MARK in (packed, offset):
        return []  # ZIP64: read and compared by the reader that opened it
    told = (disk, first_disk, here, entries, comment_bytes, offset, offset + packed)
    count = len(container.package.infolist())
    found = (0, 0, count, count, len(comment), container.package.start_dir, at)
    return [] if told == found else ["the directory's end record does not match the directory"]


def _after_directory(container: Container) -> int:
    """Where the directory ends by the lengths that its entries tell; -1: a ZIP64 record follows, as it may."""
    at = container.package.start_dir
    for _ in container.package.infolist():
        container.file.seek(at + ENTRY_LENGTHS_AT)
        raw = container.file.read(ENTRY_LENGTHS.size)
        if len(raw) < ENTRY_LENGTHS.size:
            return at
        at += ENTRY_BYTES + sum(ENTRY_LENGTHS.unpack(raw))
    container.file.seek(at)
    return -1 if container.file.read(4) == ZIP64_END_SIGNATURE else at
