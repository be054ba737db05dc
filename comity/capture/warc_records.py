"""Exchanges of a page as WARC records: response, then its request, in one temporary file, with the index beside."""

import asyncio
import base64
from datetime import datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from comity.archive import cdxj, http_block, request_query, wacz, warc
from comity.capture.exchange import Hop, header_of

LARGE_BYTES = 256 * 1024
"""Blocks above this are compressed in a thread, so that the events keep flowing."""


class Exchanges:
    """Writes records one after the other into `path`. Raises OSError as the file does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[cdxj.IndexEntry] = []
        self._file: BinaryIO = path.open("xb")
        self._writer = warc.WarcWriter(self._file)
        self._lock = asyncio.Lock()

    def close(self) -> None:
        """No more records. Safe to call again."""
        self._file.close()

    def add_info(self, date: datetime, named: list[tuple[str, str]]) -> None:
        """The `warcinfo` record: what made this file, and how."""
        self._writer.write(
            warc.Record(
                "warcinfo", date, warc.WARC_FIELDS, warc.fields(named), more=(("WARC-Filename", wacz.WARC_NAME),)
            )
        )

    def add_metadata(self, date: datetime, target_uri: str, named: list[tuple[str, str]]) -> None:
        """A `metadata` record about the page."""
        self._writer.write(warc.Record("metadata", date, warc.WARC_FIELDS, warc.fields(named), target_uri=target_uri))

    async def add(self, hop: Hop, body: warc.Payload, cut: warc.Truncation | None) -> None:
        """One hop: its response and its request."""
        async with self._lock:
            if len(body) > LARGE_BYTES:
                await asyncio.to_thread(self._add, hop, body, cut)
            else:
                self._add(hop, body, cut)

    def _add(self, hop: Hop, body: warc.Payload, cut: warc.Truncation | None) -> None:
        response = response_record(hop, body, cut)
        placed = self._writer.write(response)
        self._writer.write(request_record(hop, placed.record_id))
        if hop.method not in request_query.INDEXED:
            return
        sent_type = header_of(hop.request_headers, "content-type") or ""
        self.entries.append(
            cdxj.IndexEntry(
                url=hop.url,
                date=hop.date,
                mime=cdxj.mime_of(hop.content_type),
                status=hop.status or 0,
                digest=placed.payload_digest or "",
                length=placed.length,
                offset=placed.offset,
                filename=wacz.WARC_NAME,
                method=hop.method,
                query=request_query.body_query(sent_type, request_body(hop))
                if hop.method in request_query.WITH_BODY
                else "",
            )
        )


def response_record(hop: Hop, body: warc.Payload, cut: warc.Truncation | None) -> warc.Record:
    """The response of a hop whose decoded body is `body`."""
    response = hop.response or {}
    exact = hop.exact_response or {}
    head = http_block.response_head(
        status=hop.status or 0,
        phrase=str(response.get("statusText", "")),
        headers=http_block.split_headers(hop.response_headers.items()),
        text=exact.get("headersText") or None,
        body_bytes=len(body),
    )
    return warc.Record(
        "response",
        hop.date,
        warc.HTTP_RESPONSE,
        head,
        body,
        target_uri=hop.url,
        truncated=cut,
        more=_connection_fields(hop),
    )


def request_record(hop: Hop, concurrent_to: str) -> warc.Record:
    """The request of a hop, with its body."""
    parts = urlsplit(hop.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = http_block.request_head(
        method=hop.method,
        target=target,
        host=parts.netloc.rpartition("@")[2],
        headers=http_block.split_headers(hop.request_headers.items()),
    )
    return warc.Record(
        "request",
        hop.date,
        warc.HTTP_REQUEST,
        head,
        request_body(hop),
        target_uri=hop.url,
        concurrent_to=concurrent_to,
        more=_connection_fields(hop),
    )


def request_body(hop: Hop) -> bytes:
    """What was posted, as bytes."""
    entries = hop.request.get("postDataEntries") or []
    data = b"".join(base64.b64decode(entry["bytes"]) for entry in entries if entry.get("bytes"))
    return data or str(hop.request.get("postData") or "").encode("utf-8")


def _connection_fields(hop: Hop) -> tuple[tuple[str, str], ...]:
    response = hop.response or {}
    found: list[tuple[str, str]] = []
    address = str(response.get("remoteIPAddress") or "").strip("[]")
    if address:
        found.append(("WARC-IP-Address", address))
    protocol = response.get("protocol")
    if protocol:
        found.append(("WARC-Protocol", str(protocol)))
    tls = (response.get("securityDetails") or {}).get("protocol")
    if tls:
        found.append(("WARC-Protocol", str(tls).lower().replace(" ", "/")))
    return tuple(found)
