"""The folder for artifacts. No file there is ever partial: written under a temporary name, synced, then renamed."""

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path, PurePath
from uuid import uuid4

from comity.capture.errors import CaptureFault
from comity.capture.store import Batch, Place, share_ms, sync_folder
from comity.contract.capture import StoreKind

TEMPORARY_PREFIX = ".part-"
LEFT_OVER_AGE_S = 3600
"""Several servers may share one store: what is younger may be a capture of theirs."""


class FolderStore:
    """Below `root`, one folder per day. Working space lies in it too: only there is a name given by renaming."""

    kind: StoreKind = "folder"

    def __init__(self, root: Path, *, silence_ms: int) -> None:
        """`silence_ms`: a disk that takes nothing (a network's, a broken one) is waited for three times so long."""
        self.root = root.resolve()
        self._silence_ms = silence_ms

    async def prepare(self) -> None:
        """Makes the folder, proves that it can be written, and sweeps what a killed server left. Raises OSError."""
        await asyncio.to_thread(self._prepare)

    def _prepare(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        probe = self.root / f"{TEMPORARY_PREFIX}probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
        for left in self.root.glob(f"{TEMPORARY_PREFIX}*"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > LEFT_OVER_AGE_S:
                    shutil.rmtree(left, ignore_errors=True)

    def batch(self, task_id: str) -> Batch:
        """See `Store.batch`."""
        return Batch(self.root / f"{TEMPORARY_PREFIX}{task_id}")

    def place(self, folder: PurePath) -> Place:
        """See `Store.place`."""
        return Folder(self, self.root / folder, silence_ms=self._silence_ms)


class Folder:
    """One capture's day folder."""

    def __init__(self, store: FolderStore, folder: Path, *, silence_ms: int) -> None:
        self._store = store
        self._folder = folder
        self._budget_s = share_ms(silence_ms) / 1000

    @property
    def silent_share_ms(self) -> int:
        """Nothing is kept back: the page would pay for what a disk of this machine hardly ever does."""
        return 0

    async def give(self, batch: Batch) -> dict[str, str]:
        """All of them or none. Locations are `file:///…`."""
        try:
            async with asyncio.timeout(self._budget_s):
                return await asyncio.to_thread(name_all, batch, self._folder)
        except TimeoutError:
            batch.over = True  # the thread gives no name more, and takes back what it gave
            message = f"the folder {self._store.root} took nothing for {self._budget_s:g} s: look at its disk"
            raise CaptureFault("artifact_sink", message, step="write") from None

    async def put(self, name: str, data: bytes) -> str:
        """Written and synced before it has its name."""
        return await asyncio.to_thread(self._put, name, data)

    def _put(self, name: str, data: bytes) -> str:
        batch = self._store.batch(f"put-{uuid4().hex}")
        try:
            batch.put(name, data)
            return name_all(batch, self._folder)[name]
        finally:
            batch.discard()


def name_all(batch: Batch, folder: Path) -> dict[str, str]:
    """Gives every file its name below `folder`, once it is on disk; returns their locations by name.

    Blocks. Raises OSError, and then none of them has a name.
    """
    batch.sync()
    folder.mkdir(parents=True, exist_ok=True)
    named: list[Path] = []
    try:
        for temporary, name in batch.files:
            _check(batch)
            final = folder / name
            temporary.rename(final)
            named.append(final)
        sync_folder(folder)  # a rename is on disk only once its folder is
        _check(batch)
    except OSError:
        for final in named:
            final.unlink(missing_ok=True)
        raise
    return {final.name: final.as_uri() for final in named}


def _check(batch: Batch) -> None:
    if batch.over:
        raise OSError("the capture was over before its files had their names")
