"""An archive as an answer: whole or a range of it (RFC 9110, section 14), never something that a browser would run."""

import os
from collections.abc import Iterable, Mapping
from email.utils import format_datetime

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ledger.services.archives import OpenArchive

SLICE_BYTES = 1 << 18
GUARDED = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
"""For what came from strangers' sites: nothing of it runs, and nobody in between keeps it."""


def cors(origin: str | None, origins: Iterable[str]) -> Mapping[str, str]:
    """Leave to read for the players that were named, by their origins; for no other."""
    if origin is None or origin not in origins:
        return {"Cross-Origin-Resource-Policy": "same-origin", "Vary": "Origin"}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Vary": "Origin",
    }


def preflight(origin: str) -> Response:
    """204: what a named player may send."""
    allowed = {
        "Access-Control-Allow-Methods": "GET, HEAD",
        "Access-Control-Allow-Headers": "Range, If-Range",
        "Access-Control-Max-Age": "600",
    }
    return Response(status_code=204, headers={**cors(origin, (origin,)), **allowed})


def refused_range(size_bytes: int, origin: str | None, origins: Iterable[str]) -> Response:
    """416, with the size."""
    place = {"Content-Range": f"bytes */{size_bytes}", "Accept-Ranges": "bytes"}
    return Response(status_code=416, headers={**GUARDED, **cors(origin, origins), **place})


class FileAnswer(Response):
    """Streams the file in slices and closes it, however the answer ends. HEAD is answered without a body."""

    def __init__(
        self,
        archive: OpenArchive,
        part: range | None,
        *,
        origin: str | None,
        origins: Iterable[str],
        media_type: str = "application/wacz",
    ) -> None:
        size = archive.stat.size_bytes
        self._file = archive.file
        self._part = part if part is not None else range(size)
        headers = {
            **GUARDED,
            **cors(origin, origins),
            "Content-Type": media_type,
            "Content-Disposition": f'attachment; filename="{archive.name}"',
            "Content-Length": str(len(self._part)),
            "Accept-Ranges": "bytes",
            "ETag": f'"{archive.stat.tag}"',
            "Last-Modified": format_datetime(archive.stat.modified_at, usegmt=True),
        }
        if part is not None:
            headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
        super().__init__(status_code=200 if part is None else 206, headers=headers)

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Ours are complete: no second Content-Length for the body that is not here."""
        self.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive  # a caller that goes away makes `send` fail
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._send_part(send)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._file.close()

    async def _send_part(self, send: Send) -> None:
        """A file that was cut meanwhile gives a short answer, which the server then ends as a broken one."""
        at, end = self._part.start, self._part.stop
        while at < end:
            piece = await run_in_threadpool(self._read, at, min(SLICE_BYTES, end - at))
            if not piece:
                break
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            at += len(piece)

    def _read(self, at: int, length: int) -> bytes:
        self._file.seek(at, os.SEEK_SET)
        return self._file.read(length)
