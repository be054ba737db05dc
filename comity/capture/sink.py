"""Handing files to an artifact sink: `PUT {url}/{filename}` with a bearer token, answered with `{location}`."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx

from comity.capture.media_types import media_type
from comity.capture.store import PAUSE_S, TRIES

PIECE_BYTES = 256 * 1024
MAX_ANSWER_BYTES = 64 * 1024
MAX_LOCATION_CHARACTERS = 4096
log = logging.getLogger(__name__)


class SinkError(Exception):
    """The sink did not take a file; the message says which, why, and what to look at."""


def allowed(url: str, prefixes: Sequence[str]) -> bool:
    """Whether a sink URL lies under one of the prefixes: same scheme, host and port, and below its path.

    Compared in parts, so that `http://sink` does not allow `http://sink.elsewhere` nor `http://sink@elsewhere`.
    """
    parts = urlsplit(url)
    if parts.query or parts.fragment or parts.username is not None or "\\" in url:
        return False
    if any(unquote(piece) in (".", "..") or "/" in unquote(piece) for piece in parts.path.split("/")):
        return False
    return any(_below(url, prefix) for prefix in prefixes)


def _below(url: str, prefix: str) -> bool:
    ours, given = urlsplit(prefix), urlsplit(url)
    if (ours.scheme, ours.hostname, _port(ours.scheme, ours.port)) != (
        given.scheme,
        given.hostname,
        _port(given.scheme, given.port),
    ):
        return False
    folder = ours.path.rstrip("/")
    return given.path == folder or given.path.startswith(f"{folder}/")


def _port(scheme: str, port: int | None) -> int:
    return port if port is not None else {"https": 443}.get(scheme, 80)


class Sink:
    """One request's sink. Follows no redirects and reads no proxy settings: the token goes to this address alone."""

    def __init__(self, url: str, token: str, *, silence_ms: int, tls_ca: Path | None = None) -> None:
        """`silence_ms`: how long it may say nothing, or take nothing; the third such silence is the last."""
        self._url = url.rstrip("/")
        self._silence_s = silence_ms / 1000
        self._headers = {"authorization": f"Bearer {token}"}
        self._verify: ssl.SSLContext | bool = ssl.create_default_context(cafile=tls_ca) if tls_ca else True

    async def upload(self, name: str, path: Path) -> str:
        """Streams one file from disk; its location. Raises SinkError, and OSError as the file does."""
        size = (await asyncio.to_thread(path.stat)).st_size
        return await self._put(name, size, lambda: _pieces(path))

    async def send(self, name: str, data: bytes) -> str:
        """The same for what is in memory."""

        async def whole() -> AsyncIterator[bytes]:
            yield data

        return await self._put(name, len(data), whole)

    async def _put(self, name: str, size: int, content: Callable[[], AsyncIterator[bytes]]) -> str:
        url = f"{self._url}/{quote(name, safe='')}"
        headers = self._headers | {
            "content-length": str(size),
            "content-type": media_type(name),
        }
        reason = ""
        async with httpx.AsyncClient(trust_env=False, verify=self._verify, timeout=self._silence_s) as client:
            for left in reversed(range(TRIES)):
                try:
                    async with client.stream("PUT", url, headers=headers, content=content()) as answer:
                        if answer.status_code < 500:
                            return _location(name, answer.status_code, await _read(answer))
                        reason = f"answered {answer.status_code}"
                except httpx.TimeoutException:
                    reason = f"said nothing for {self._silence_s:g} s"
                except httpx.HTTPError as error:
                    reason = str(error) or type(error).__name__
                log.warning("the sink at %s did not take %s: %s", self._url, name, reason)
                if left:
                    await asyncio.sleep(PAUSE_S)
        raise SinkError(f"the artifact sink at {self._url} did not take {name} in {TRIES} tries: it {reason}")


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
    finally:
        file.close()


async def _read(answer: httpx.Response) -> bytes:
    read = bytearray()
    async for piece in answer.aiter_bytes():
        read += piece
        if len(read) > MAX_ANSWER_BYTES:
            break
    return bytes(read)


def _location(name: str, status: int, body: bytes) -> str:
    if not 200 <= status < 300:
        raise SinkError(f"the artifact sink refused {name} with {status}: check artifactSink's url and token")
    try:
        told: Any = json.loads(body)
    except ValueError:
        told = None
    location = told.get("location") if isinstance(told, dict) else None
    if not isinstance(location, str) or not 0 < len(location) <= MAX_LOCATION_CHARACTERS:
        raise SinkError(f"the artifact sink took {name} but told no location: a sink answers with {{location}}")
    return location
