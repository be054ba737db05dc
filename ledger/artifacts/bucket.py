"""Artifacts in a bucket of an S3-compatible store: `s3://bucket/key`. Every call has a budget."""

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import BinaryIO

import obstore
from obstore.exceptions import BaseError, GenericError
from obstore.store import S3Store

from ledger.artifacts.place import Away, Elsewhere, Found, Missing, NotRead, Stat, Unreadable
from ledger.artifacts.s3_settings import S3Settings

CONNECT_S, READ_S = 3, 7
RETRIES, RETRYING_S = 1, 8
"""The store may fail once and be asked again; one call takes 16 s at the very worst."""
REST_S = 10
"""A store that did not answer is not asked again for so long, so that a thousand reads do not each wait for it."""
KEYS_PER_CALL = 1000
"""What an S3-compatible store lists or deletes in one call."""
BLOCK_BYTES = 1 << 18
"""What one range request of an opened artifact brings: the end of a ZIP with its directory, mostly."""


class Bucket:
    """Everything in one bucket."""

    def __init__(self, settings: S3Settings) -> None:
        assert settings.bucket is not None
        self._prefix = f"s3://{settings.bucket}/"
        self._store = _connected(settings)
        self._rests_until_s = 0.0

    def owns(self, location: str) -> bool:
        """True for `s3:` locations, of any bucket."""
        return location[:3].lower() == "s3:"

    def read(self, location: str, limit_bytes: int) -> bytes:
        """See `Place.read`. The size comes before the bytes."""
        key = self._key(location)
        with self._told():
            answer = self._store.get(key)
            if answer.meta["size"] > limit_bytes:
                raise Unreadable(f"over {limit_bytes} bytes")
            return answer.bytes().to_bytes()

    def open(self, location: str) -> BinaryIO:
        """See `Place.open`: each block that is read is one range request."""
        key = self._key(location)
        with self._told():
            size = self._store.head(key)["size"]
        return io.BufferedReader(_Ranges(self, key, size), BLOCK_BYTES)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Bytes from `start` up to `end`. Raises NotRead."""
        with self._told():
            return self._store.get_range(key, start=start, end=end).to_bytes()

    def stat(self, location: str) -> Stat:
        """See `Place.stat`."""
        key = self._key(location)
        with self._told():
            found = self._store.head(key)
        return Stat(found["size"], found["last_modified"], (found["e_tag"] or "").strip('"'))

    def listing(self, folder: str, ending: str) -> Iterator[Found]:
        """See `Place.listing`. A thousand keys a call."""
        with self._told():
            for chunk in self._store.list(prefix=folder, chunk_size=KEYS_PER_CALL):
                for entry in chunk:
                    above, _, name = entry["path"].rpartition("/")
                    if above == folder and name.endswith(ending):
                        yield Found(name, self._prefix + entry["path"], entry["size"])

    def real(self, location: str) -> str:
        """See `Place.real`: a key has no other name."""
        return self._prefix + self._key(location)

    def remove(self, locations: Sequence[str]) -> None:
        """See `Place.remove`. A thousand keys a call."""
        keys = [self._key(location) for location in locations]
        for start in range(0, len(keys), KEYS_PER_CALL):
            with self._told():
                self._store.delete(keys[start : start + KEYS_PER_CALL])

    def write(self, name: str, content: bytes) -> str:
        """See `Place.write`."""
        location = self._prefix + name
        key = self._key(location)
        with self._told():
            self._store.put(key, content)
        return location

    def signed_url(self, location: str, *, seconds: int) -> str | None:
        """The store's own (AWS Signature Version 4 in the query)."""
        key = self._key(location)
        with self._told():
            return obstore.sign(self._store, "GET", key, timedelta(seconds=seconds))

    def ask_again(self) -> None:
        """A store that rests is asked at the next call."""
        self._rests_until_s = 0.0

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The library's exceptions as ours; its texts hold addresses and whole answers, so that none is passed on."""
        if time.monotonic() < self._rests_until_s:
            raise Away("the object store did not answer a moment ago")
        try:
            yield
        except FileNotFoundError:
            raise Missing("nothing by that key") from None
        except (BaseError, OSError) as error:
            if isinstance(error, (GenericError, OSError)):
                self._rests_until_s = time.monotonic() + REST_S
            raise Away(f"the object store does not answer ({type(error).__name__})") from None

    def _key(self, location: str) -> str:
        """The key of a location in our bucket. Raises Elsewhere."""
        key = location.removeprefix(self._prefix)
        if key == location or any(part in ("", ".", "..") for part in key.split("/")) or "\0" in key:
            raise Elsewhere("outside the bucket")
        return key


class _Ranges(io.RawIOBase):
    """An object as a seekable file."""

    def __init__(self, bucket: Bucket, key: str, size_bytes: int) -> None:
        self._bucket = bucket
        self._key = key
        self._size = size_bytes
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # the interface says object; it is a writable buffer
        end = min(self._size, self._at + len(view))
        if end <= self._at:
            return 0
        try:
            data = self._bucket.read_range(self._key, self._at, end)
        except NotRead as error:
            raise OSError(str(error)) from None
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def _connected(settings: S3Settings) -> S3Store:
    options = {"allow_http": settings.plain_http, "connect_timeout": f"{CONNECT_S}s", "timeout": f"{READ_S}s"}
    if settings.ca_pem is not None:
        options["root_certificate"] = settings.ca_pem
    address = {"endpoint": settings.endpoint} if settings.endpoint is not None else {}
    return S3Store(
        settings.bucket,
        region=settings.region,
        access_key_id=settings.access_key_id.get_secret_value(),
        secret_access_key=settings.secret_access_key.get_secret_value(),
        client_options=options,  # type: ignore[arg-type]  # a TypedDict that is filled in two steps
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRYING_S)},
        **address,  # type: ignore[arg-type]  # left out, not None, where there is none
    )
