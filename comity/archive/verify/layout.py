"""What a package that says it is ours must look like between its members: not a byte of it free to be another.

No hash covers a ZIP's own records. Our writer is deterministic, so each is compared with the one that it writes.
"""

import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime

from comity.archive.verify.container import Container, directory_end
from comity.archive.verify.zip_records import (
    ENTRY,
    LOCAL,
    MARK,
    WIDE_END_SIGNATURE,
    directory_entry,
    end_records,
    local_header,
)
from comity.archive.wacz import zip_time


def check_layout(container: Container, created: object) -> list[str]:
    """What is not as it was written; `created` is what `datapackage.json` tells. Every member has its place by now."""
    return [*_members(container), *_times(container, created), *_directory(container)]


def _members(container: Container) -> Iterator[str]:
    place = 0
    for info in container.package.infolist():
        if info.header_offset != place:
            yield f"{info.filename}: {info.header_offset - place} bytes before it belong to no member"
        place = container.data_at[info.filename] + info.compress_size
        if _header(container, info) != local_header(info, wide=_is_wide(container, info)):
            yield f"{info.filename}: its header is not as it was written"
    if place != container.package.start_dir:
        yield f"{container.package.start_dir - place} bytes before the directory belong to no member"


def _times(container: Container, created: object) -> Iterator[str]:
    try:
        moment = datetime.fromisoformat(str(created))
    except ValueError:
        yield f"created is no time: {created}"
        return
    told = zip_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    expected = (*told[:5], told[5] // 2 * 2)
    for info in container.package.infolist():
        if info.date_time != expected:
            yield f"{info.filename}: its time is not the package's"


def _directory(container: Container) -> Iterator[str]:
    at = start = container.package.start_dir
    for info in container.package.infolist():
        fixed = ENTRY.unpack(container.at(at, ENTRY.size))
        wide_sizes, wide_offset = MARK in fixed[9:11], fixed[17] == MARK
        expected = directory_entry(info, wide=_is_wide(container, info), wide_sizes=wide_sizes, wide_offset=wide_offset)
        length = ENTRY.size + sum(fixed[11:14])
        if container.at(at, length) != expected:
            yield f"{info.filename}: its directory entry is not as it was written"
        at += length
    end = directory_end(container)
    behind = container.at(end, container.size_bytes - end)
    count, wide = len(container.package.infolist()), behind.startswith(WIDE_END_SIGNATURE)
    if behind != end_records(count=count, size_bytes=end - start, start=start, wide=wide):
        yield "the directory's end is not as it was written"


def _header(container: Container, info: zipfile.ZipInfo) -> bytes:
    return container.at(info.header_offset, container.data_at[info.filename] - info.header_offset)


def _is_wide(container: Container, info: zipfile.ZipInfo) -> bool:
    header = _header(container, info)
    return MARK in LOCAL.unpack_from(header)[7:9]
