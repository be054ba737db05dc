"""A bucket of an S3-compatible store. An object there is whole or not there at all.

Small files are put in one request, and only where the name is still free (`If-None-Match: *`). Larger ones go up in
parts: the store makes an object of them when it is told that all have come, and what fails is aborted.
"""

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from datetime import timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store as Client

from comity.capture.errors import CaptureFault
from comity.capture.media_types import media_type
from comity.capture.s3_faults import reason_of, setting_at_fault
from comity.capture.s3_settings import S3Settings
from comity.capture.store import PAUSE_S, TRIES, Batch, Place, StoreUnusableError, share_ms
from comity.contract.capture import StoreKind

if TYPE_CHECKING:
    from obstore.store import ClientConfig

PART_BYTES = 5 * 1024 * 1024
"""The smallest part that S3 takes: what is in memory of a file is two of these, and a slow line fills one in time."""
PARTS_AT_ONCE = 2
ABORT_BUDGET_S = 3.0
CLEAN_UP_BUDGET_S = 3.0
PROBE = ".comity-probe"
log = logging.getLogger(__name__)


class _StoppedError(Exception):
    """The capture was cancelled while its file went up."""


class S3Store:
    """Keys are `{YYYY}/{MM}/{DD}/{name}`, locations `s3://{bucket}/{key}`, the key as it is."""

    kind: StoreKind = "s3"

    def __init__(self, settings: S3Settings, *, silence_ms: int) -> None:
        """`silence_ms`: a request (a part, at most) may stay unanswered so long; the third time is the last.

        Raises StoreUnusableError where the settings cannot be used.
        """
        self.bucket = settings.bucket or ""
        self._at = settings.address
        self._silence_ms = silence_ms
        self._conditional = True
        try:
            self._client = _client(settings, silence_ms)
        except (BaseError, ValueError, OSError) as error:
            raise StoreUnusableError(f"{setting_at_fault(error)}: {reason_of(error)}") from None

    async def prepare(self) -> None:
        """Puts a small object and takes it away again: keys, bucket and rights are right, or the start is refused."""
        key = f"{PROBE}-{uuid4().hex}"
        try:
            await self._bounded(self._put(key, b"", {}))
        except TimeoutError:
            waited_s = share_ms(self._silence_ms) / 1000
            raise StoreUnusableError(f"COMITY_S3_ENDPOINT: {self._at} said nothing for {waited_s:g} s") from None
        except (BaseError, OSError) as error:
            raise StoreUnusableError(
                f"{setting_at_fault(error)}: {self._at} does not take a file into the bucket {self.bucket}: "
                f"{reason_of(error)}"
            ) from None
        await self._remove([key])

    def batch(self, task_id: str) -> Batch:
        """Working space in this process's own temporary folder."""
        return Batch(Path(tempfile.gettempdir()) / f"batch-{task_id}")

    def place(self, folder: PurePath) -> Place:
        """See `Store.place`."""
        return Bucket(self, folder, silence_ms=self._silence_ms)

    async def upload(self, key: str, path: Path) -> str:
        """Streams a file from disk; its location. Raises CaptureFault, and OSError as the file does."""
        size = (await asyncio.to_thread(path.stat)).st_size
        if size <= PART_BYTES:
            return await self.send(key, await asyncio.to_thread(path.read_bytes))
        attributes = {"Content-Type": media_type(key)}
        with self._named_faults(key):
            await self._in_parts(key, path, attributes)
        return self._location(key)

    async def send(self, key: str, data: bytes) -> str:
        """One small file from memory; its location. Raises CaptureFault."""
        with self._named_faults(key):
            await self._bounded(self._put(key, data, {"Content-Type": media_type(key)}))
        return self._location(key)

    async def remove(self, keys: Sequence[str]) -> None:
        """Takes away what a failed capture has left. Never raises; tells the log what stays."""
        await self._remove(keys)

    async def _remove(self, keys: Sequence[str]) -> None:
        try:
            async with asyncio.timeout(CLEAN_UP_BUDGET_S):
                for key in keys:
                    await obstore.delete_async(self._client, key)
        except (BaseError, OSError, TimeoutError) as error:
            log.warning("%s could not be removed from %s: %s", ", ".join(keys), self.bucket, reason_of(error))

    async def _put(self, key: str, data: bytes, attributes: dict[str, str]) -> None:
        if self._conditional:
            try:
                await obstore.put_async(self._client, key, data, attributes=attributes, mode="create")
            except AlreadyExistsError:
                await self._check_ours(key, data)
            except (BaseError, OSError) as error:
                if "NotImplemented" not in str(error):
                    raise
                log.warning("%s has no conditional writes: names are trusted to be new, as task ids are", self._at)
                self._conditional = False
            else:
                return
            if self._conditional:
                return
        await obstore.put_async(self._client, key, data, attributes=attributes, use_multipart=False)

    async def _check_ours(self, key: str, data: bytes) -> None:
        """An answer that got lost: the second try finds what the first has put. Anything else is no file of ours."""
        found = await (await obstore.get_async(self._client, key)).bytes_async()
        if bytes(found) != data:
            raise FileExistsError(f"{key} is already there, with other bytes")

    async def _bounded(self, work: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(share_ms(self._silence_ms) / 1000):
            await work

    async def _in_parts(self, key: str, path: Path, attributes: dict[str, str]) -> None:
        """As long as parts go on being taken. A file that is not to be finished any more is aborted at the store."""
        loop, share_s = asyncio.get_running_loop(), share_ms(self._silence_ms) / 1000
        stopped = asyncio.Event()
        async with asyncio.timeout(share_s) as silence:

            async def pieces() -> AsyncIterator[bytes]:
                file = await asyncio.to_thread(path.open, "rb")
                with contextlib.closing(file):
                    while piece := await asyncio.to_thread(file.read, PART_BYTES):
                        if stopped.is_set():
                            raise _StoppedError
                        silence.reschedule(loop.time() + share_s)
                        yield piece

            upload = asyncio.ensure_future(
                obstore.put_async(
                    self._client,
                    key,
                    pieces(),
                    attributes=attributes,
                    chunk_size=PART_BYTES,
                    max_concurrency=PARTS_AT_ONCE,
                )
            )
            try:
                await asyncio.shield(upload)
            finally:
                stopped.set()
                await _ended(upload)

    @contextlib.contextmanager
    def _named_faults(self, key: str) -> Iterator[None]:
        """From what the store says to what the report says."""
        try:
            yield
        except TimeoutError:
            said = f"said nothing for {self._silence_ms / 1000:g} s, {TRIES} times"
            raise self._fault(key, said) from None
        except (BaseError, OSError) as error:
            raise self._fault(key, f"said: {reason_of(error)}") from None

    def _fault(self, key: str, said: str) -> CaptureFault:
        name = key.rpartition("/")[2]
        message = f"the bucket {self.bucket} at {self._at} did not take {name}: it {said}"
        return CaptureFault("artifact_sink", message, step="write")

    def _location(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"


class Bucket:
    """One capture's place in the bucket."""

    def __init__(self, store: S3Store, folder: PurePath, *, silence_ms: int) -> None:
        self._store = store
        self._folder = folder
        self._silence_ms = silence_ms

    @property
    def silent_share_ms(self) -> int:
        """A store beyond this machine may be silent: the page leaves the time for that."""
        return share_ms(self._silence_ms)

    async def give(self, batch: Batch) -> dict[str, str]:
        """All of them or none: what has gone up before one fails is taken away again."""
        locations: dict[str, str] = {}
        try:
            for path, name in batch.files:
                locations[name] = await self._store.upload(self._key(name), path)
        except BaseException:
            await self._store.remove([self._key(name) for name in locations])
            raise
        return locations

    async def put(self, name: str, data: bytes) -> str:
        """Sent from memory."""
        return await self._store.send(self._key(name), data)

    def _key(self, name: str) -> str:
        return f"{self._folder.as_posix()}/{name}"


async def _ended(upload: "asyncio.Future[Any]") -> None:
    """An upload that fails aborts itself at the store, which a cancelled one would not."""
    if not upload.done():
        await asyncio.wait({upload}, timeout=ABORT_BUDGET_S)
    upload.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await upload


def _client(settings: S3Settings, silence_ms: int) -> Client:
    silence = timedelta(milliseconds=silence_ms)
    pause = timedelta(seconds=PAUSE_S)
    options: ClientConfig = {"timeout": silence, "connect_timeout": silence, "allow_http": settings.plain}
    if settings.ca_pem_file is not None:
        options["root_certificate"] = settings.ca_pem_file.read_bytes()
    return Client(
        settings.bucket,
        endpoint=settings.address,
        region=settings.region,
        access_key_id=settings.access_key_id,
        secret_access_key=settings.secret_access_key.get_secret_value(),
        client_options=options,
        retry_config={
            "max_retries": TRIES - 1,
            "retry_timeout": timedelta(milliseconds=share_ms(silence_ms)),
            "backoff": {"init_backoff": pause, "max_backoff": pause, "base": 2},
        },
    )
