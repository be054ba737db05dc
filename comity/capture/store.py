"""Where a capture server keeps what captures make: a folder, or a bucket of an S3-compatible store.

A file has its name there only once it is whole. Until then it lies in working space on this machine, a `Batch`.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePath
from typing import BinaryIO, Protocol

from comity.contract.capture import StoreKind

TRIES = 3
PAUSE_S = 0.5


def share_ms(silence_ms: int) -> int:
    """What a silent store or sink takes of the capture's budget: it may be silent `TRIES` times."""
    return TRIES * (silence_ms + round(PAUSE_S * 1000))


class StoreUnusableError(Exception):
    """The store cannot be used at all; the message names the setting to look at."""


def sync_folder(folder: Path) -> None:
    """The names in a folder are on disk. Blocks; raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Batch:
    """Working space of one capture, and its files that are whole and wait for their names. Closed by `discard`."""

    def __init__(self, work: Path) -> None:
        """Makes the folder `work`. Raises OSError."""
        work.mkdir(mode=0o700)
        self.work = work
        self._waiting: list[tuple[Path, str]] = []
        self._unsynced: list[BinaryIO] = []
        self.over = False
        """Set by `discard`: whoever still gives names must stop."""

    @property
    def files(self) -> tuple[tuple[Path, str], ...]:
        """What is whole and waits for its name: where it lies, and the name."""
        return tuple(self._waiting)

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """A new file to fill; on disk for sure once `sync` has returned. Raises OSError."""
        temporary = self.work / f"artifact-{len(self._waiting)}"
        out = temporary.open("xb")
        self._unsynced.append(out)
        yield out
        out.flush()
        self._waiting.append((temporary, name))

    def put(self, name: str, data: bytes) -> None:
        """One file, whole."""
        with self.open(name) as out:
            out.write(data)

    def sync(self) -> None:
        """Every file so far is on disk. Asked for together, a disk takes several in the time of one.

        Blocks; raises OSError.
        """
        files, self._unsynced = self._unsynced, []
        if not files:
            return
        with contextlib.ExitStack() as closing, ThreadPoolExecutor(max_workers=len(files)) as pool:
            for file in files:
                closing.push(file)
            for _ in pool.map(os.fsync, [file.fileno() for file in files]):
                pass

    def sync_backlog(self) -> None:
        """Lets the disk take what it has held back so far, ours and others', while nobody waits for it.

        A journal writes all of it at the next `sync`, which then takes several times as long. Blocks; never raises.
        """
        with contextlib.suppress(OSError):
            sync_folder(self.work)

    def discard(self) -> None:
        """Removes what has no name. Never raises."""
        self.over = True
        files, self._unsynced = self._unsynced, []
        for file in files:
            with contextlib.suppress(OSError):
                file.close()
        shutil.rmtree(self.work, ignore_errors=True)


class Place(Protocol):
    """Where one capture's files go. Both methods raise OSError for the disk, CaptureFault (`artifact_sink`) for the
    place itself."""

    @property
    def silent_share_ms(self) -> int:
        """What it may take of the capture's budget by being silent."""

    async def give(self, batch: Batch) -> dict[str, str]:
        """Every file of the batch gets its name; their locations by name."""

    async def put(self, name: str, data: bytes) -> str:
        """One small file; its location."""


class Store(Protocol):
    """The server's own store."""

    kind: StoreKind

    async def prepare(self) -> None:
        """Proves that it can be written. Raises OSError, or StoreUnusableError naming the setting."""

    def batch(self, task_id: str) -> Batch:
        """Working space for one capture. Blocks; raises OSError."""

    def place(self, folder: PurePath) -> Place:
        """Where a capture's files go: below `folder` of this store."""
