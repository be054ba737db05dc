"""A ZIP's own records as Python's `zipfile` writes them around stored members (APPNOTE.TXT, 4.3 and 4.5.3).

    local_header(info) · directory_entry(info) · end_records(…) -> the exact bytes

What is 2 GiB long, or begins beyond, is told in ZIP64 fields (`wide`), and so is a directory there.
"""

import struct
import zipfile

LOCAL = struct.Struct("<4sHHHHHIIIHH")
ENTRY = struct.Struct("<4sBBHHHHHIIIHHHHHII")
END = struct.Struct("<4sHHHHIIH")
WIDE_END, LOCATOR = struct.Struct("<4sQHHIIQQQQ"), struct.Struct("<4sIQI")
LOCAL_SIGNATURE, ENTRY_SIGNATURE, END_SIGNATURE = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
WIDE_END_SIGNATURE, LOCATOR_SIGNATURE = b"PK\x06\x06", b"PK\x06\x07"
MARK, SHORT_MARK = 0xFFFFFFFF, 0xFFFF
"""Instead of a number that a ZIP64 field tells."""
WIDE_FIELD = 1
VERSION, WIDE_VERSION = 20, 45
UNIX, ATTRIBUTES = 3, 0o644 << 16
UTF_8_NAME = 0x800


def local_header(info: zipfile.ZipInfo, *, wide: bool) -> bytes:
    """What stands before a member's data."""
    name, flags = _name(info)
    sizes = (MARK, MARK) if wide else (info.file_size, info.file_size)
    extra = _extra([info.file_size, info.file_size] if wide else [])
    version = WIDE_VERSION if wide else VERSION
    return (
        LOCAL.pack(
            LOCAL_SIGNATURE, version, flags, zipfile.ZIP_STORED, *dos(info), info.CRC, *sizes, len(name), len(extra)
        )
        + name
        + extra
    )


def directory_entry(info: zipfile.ZipInfo, *, wide: bool, wide_sizes: bool, wide_offset: bool) -> bytes:
    """What the directory tells of a member. `wide`: of its header."""
    name, flags = _name(info)
    told = [info.file_size, info.file_size] if wide_sizes else []
    told += [info.header_offset] if wide_offset else []
    extra = _extra(told)
    version = WIDE_VERSION if wide or told else VERSION
    sizes = (MARK, MARK) if wide_sizes else (info.file_size, info.file_size)
    offset = MARK if wide_offset else info.header_offset
    created_by = (version, UNIX)
    lengths = (len(name), len(extra), 0)
    return (
        ENTRY.pack(
            *(ENTRY_SIGNATURE, *created_by, version, flags, zipfile.ZIP_STORED, *dos(info), info.CRC, *sizes),
            *(*lengths, 0, 0, ATTRIBUTES, offset),
        )
        + name
        + extra
    )


def end_records(*, count: int, size_bytes: int, start: int, wide: bool) -> bytes:
    """What stands behind a directory of `count` entries: nothing comes after it."""
    before = b""
    if wide:
        counts = (count, count)
        before = WIDE_END.pack(
            WIDE_END_SIGNATURE, WIDE_END.size - 12, WIDE_VERSION, WIDE_VERSION, 0, 0, *counts, size_bytes, start
        ) + LOCATOR.pack(LOCATOR_SIGNATURE, 0, start + size_bytes, 1)
    told = min(count, SHORT_MARK)
    return before + END.pack(END_SIGNATURE, 0, 0, told, told, min(size_bytes, MARK), min(start, MARK), 0)


def dos(info: zipfile.ZipInfo) -> tuple[int, int]:
    """Time and date as a ZIP keeps them, in steps of two seconds."""
    year, month, day, hour, minute, second = info.date_time
    return hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


def told_wide(info: zipfile.ZipInfo) -> bool:
    """Whether the directory tells anything of the member in a ZIP64 field."""
    extra = info.extra
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        if kind == WIDE_FIELD:
            return True
        extra = extra[4 + length :]
    return False


def _name(info: zipfile.ZipInfo) -> tuple[bytes, int]:
    name = info.orig_filename
    return (name.encode("ascii"), 0) if name.isascii() else (name.encode("utf-8"), UTF_8_NAME)


def _extra(numbers: list[int]) -> bytes:
    return struct.pack(f"<HH{len(numbers)}Q", WIDE_FIELD, 8 * len(numbers), *numbers) if numbers else b""
