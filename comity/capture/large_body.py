"""A body on its way to the archive that memory shall not hold: small ones stay in it, larger ones lie on disk."""

import tempfile
from collections.abc import Iterator
from typing import Self

from comity.archive.warc import Payload

IN_MEMORY_BYTES = 4 * 1024 * 1024
SLICE_BYTES = 1 << 20


class LargeBody:
    """Written in order, then read as often as needed (`comity.archive.warc.Large`). Methods raise OSError as disks do.

    The file has no name: nothing of it outlives the process.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - closed by `close`
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: bytes) -> None:
        """Appends."""
        self._file.write(data)
        self._size += len(data)

    def pieces(self) -> Iterator[bytes]:
        """All of it, in slices."""
        self._file.seek(0)
        while piece := self._file.read(SLICE_BYTES):
            yield piece

    def close(self) -> None:
        """It is not needed any more. Safe to call again."""
        self._file.close()


def release(body: Payload | None) -> None:
    """A body of either kind is not needed any more."""
    if isinstance(body, LargeBody):
        body.close()
