"""`PUT /api/sink/{crawlId}/{filename}`: artifacts of captures whose servers do not share our folder.

Create-only: a name is given its bytes once, whole. They arrive in a file beside, are flushed to disk, and get their
name by a hard link, which fails where the name is taken: so two writers cannot both win, and no reader sees a part.
"""

import asyncio
import errno
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from starlette.concurrency import run_in_threadpool

from comity.contract.capture import ArtifactSink
from comity.contract.identity import SinkStored
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, NameTaken, SinkFull, TooLarge, TooSlow, Unauthenticated
from ledger.rules import sink
from ledger.rules.adoption import SINK_FOLDER

INCOMING = ".incoming"
SILENCE_S = 30.0
"""A sender that says nothing for so long has gone."""
LEFT_BEHIND_S = 3600
"""What is older in the folder for arrivals was left by a process that died."""
PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True)
class _Arrived:
    """A whole file without its name yet."""

    path: Path
    sha256: str


class SinkService:
    """Takes artifacts. `url`: where capture servers reach this ledger; None: work orders name no sink."""

    def __init__(self, root: Path, key: bytes, url: str | None, max_bytes: int, clock: Clock) -> None:
        self._root = root / SINK_FOLDER
        self._key = key
        self._url = url
        self._max_bytes = max_bytes
        self._clock = clock

    def order(self, crawl_id: str) -> ArtifactSink | None:
        """What a work order says of its sink: the address and a token that lasts three hours."""
        if self._url is None:
            return None
        return ArtifactSink(
            url=f"{self._url}/api/sink/{crawl_id}", token=sink.new_token(self._key, crawl_id, self._clock())
        )

    async def take(
        self, crawl_id: str, filename: str, token: str | None, content: AsyncIterator[bytes], declared: int | None
    ) -> tuple[SinkStored, bool]:
        """Where the artifact lies, and whether it is new there.

        Raises Unauthenticated, the same for every token that does not fit; BadInput for the name; TooLarge, TooSlow,
        SinkFull; NameTaken where other bytes have the name.
        """
        if token is None or not sink.lets_in(self._key, crawl_id, token, self._clock()):
            raise Unauthenticated
        problem = sink.why_not_this_name(filename, crawl_id)
        if problem is not None:
            raise BadInput.at("filename", problem)
        if declared is not None and declared > self._max_bytes:
            raise TooLarge(self._max_bytes)
        try:
            return await self._keep(self._root / crawl_id / filename, content, declared)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                log.warning("sink_full", crawl_id=crawl_id)
                raise SinkFull from None
            raise

    def sweep(self) -> None:
        """Remove what a process that died has left unfinished."""
        for path in (self._root / INCOMING).glob("*"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFT_BEHIND_S:
                    path.unlink()

    async def _keep(self, final: Path, content: AsyncIterator[bytes], declared: int | None) -> tuple[SinkStored, bool]:
        file = await run_in_threadpool(self._open)
        path = Path(file.name)
        try:
            with file:
                sha256 = await self._receive(file, content, declared)
            new = await run_in_threadpool(_name, _Arrived(path, sha256), final)
        finally:
            await run_in_threadpool(path.unlink, missing_ok=True)
        return SinkStored(location=final.as_uri()), new

    def _open(self) -> IO[bytes]:
        folder = self._root / INCOMING
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.NamedTemporaryFile(dir=folder, delete=False)

    async def _receive(self, file: IO[bytes], content: AsyncIterator[bytes], declared: int | None) -> str:
        digest, size, held = hashlib.sha256(), 0, bytearray()

        def write(piece: bytes) -> None:
            digest.update(piece)
            file.write(piece)

        try:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    piece = await anext(content, None)
                if piece is None:
                    break
                size += len(piece)
                if size > self._max_bytes:
                    raise TooLarge(self._max_bytes)
                held += piece
                if len(held) >= PIECE_BYTES:
                    await run_in_threadpool(write, bytes(held))
                    held.clear()
        except TimeoutError:
            raise TooSlow(SILENCE_S) from None
        if declared is not None and size != declared:
            raise BadInput.at("body", f"has {size} bytes, and Content-Length says {declared}; send it again")
        await run_in_threadpool(write, bytes(held))
        await run_in_threadpool(_flush, file)
        return digest.hexdigest()


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _name(arrived: _Arrived, final: Path) -> bool:
    """Give the file its name. False where the name has these very bytes already. Raises NameTaken for others."""
    final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.link(arrived.path, final)
    except FileExistsError:
        with final.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != arrived.sha256:
                raise NameTaken(final.name) from None
        return False
    _sync_folder(final.parent)
    _sync_folder(final.parent.parent)
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
