"""WARC records as bytes: the format, its digests, and that equal facts give equal bytes."""

import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from comity.archive import warc

MOMENT = datetime(2030, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def written(*records: warc.Record) -> tuple[bytes, list[warc.Placed]]:
    out = io.BytesIO()
    ids = iter(f"<urn:uuid:00000000-0000-0000-0000-{number:012}>" for number in range(100))
    writer = warc.WarcWriter(out, make_id=lambda: next(ids))
    placed = [writer.write(record) for record in records]
    return out.getvalue(), placed


RESPONSE = warc.Record(
    "response",
    MOMENT,
    warc.HTTP_RESPONSE,
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
    b"hi",
    target_uri="http://a.example/",
    more=(("WARC-IP-Address", "192.0.2.1"),),
)


def test_record_is_these_bytes() -> None:
    data, _ = written(RESPONSE)
    block = RESPONSE.head + b"hi"
    assert gzip.decompress(data) == (
        b"WARC/1.1\r\n"
        b"WARC-Type: response\r\n"
        b"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        b"WARC-Date: 2030-01-31T12:00:00.250Z\r\n"
        b"WARC-Target-URI: http://a.example/\r\n"
        b"WARC-IP-Address: 192.0.2.1\r\n"
        b"WARC-Block-Digest: sha256:" + hashlib.sha256(block).hexdigest().encode() + b"\r\n"
        b"WARC-Payload-Digest: sha256:" + hashlib.sha256(b"hi").hexdigest().encode() + b"\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: " + str(len(block)).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"
    )


def test_equal_records_are_equal_bytes() -> None:
    assert written(RESPONSE)[0] == written(RESPONSE)[0]


def test_each_record_is_a_gzip_member_at_its_place() -> None:
    data, placed = written(RESPONSE, RESPONSE)
    assert [place.offset for place in placed] == [0, placed[0].length]
    assert sum(place.length for place in placed) == len(data)
    second = gzip.decompress(data[placed[1].offset :])
    assert second.startswith(b"WARC/1.1\r\n")
    assert b"000000000001>" in second


def test_truncated_record_says_so() -> None:
    cut = warc.Record("response", MOMENT, warc.HTTP_RESPONSE, RESPONSE.head, b"", truncated="length")
    assert b"WARC-Truncated: length\r\n" in gzip.decompress(written(cut)[0])
    assert b"WARC-Truncated" not in gzip.decompress(written(RESPONSE)[0])


@pytest.mark.parametrize("value", ["a\r\nWARC-Type: request", "a\nb", "a\r b"])
def test_line_break_in_a_field_cannot_make_another_field(value: str) -> None:
    text = warc.fields([("title", value)])
    assert text.count(b"\r\n") == 1
    assert text.endswith(b"\r\n")
    assert b"\n" not in text[:-2]


def test_record_without_payload_has_no_payload_digest() -> None:
    info = warc.Record("warcinfo", MOMENT, warc.WARC_FIELDS, warc.fields([("software", "x")]))
    assert b"WARC-Payload-Digest" not in gzip.decompress(written(info)[0])
    assert EMPTY_SHA256.encode() in gzip.decompress(
        written(warc.Record("request", MOMENT, warc.HTTP_REQUEST, b"GET / HTTP/1.1\r\n\r\n", b""))[0]
    )


def test_warcio_reads_every_record_with_right_digests() -> None:
    info = warc.Record("warcinfo", MOMENT, warc.WARC_FIELDS, warc.fields([("software", "x")]))
    request = warc.Record(
        "request",
        MOMENT,
        warc.HTTP_REQUEST,
        b"POST / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        bytes(range(256)),
        target_uri="http://a.example/",
        concurrent_to="<urn:uuid:0>",
    )
    large = warc.Record(
        "response", MOMENT, warc.HTTP_RESPONSE, RESPONSE.head, b"x" * 3_000_000, target_uri="http://a.example/large"
    )
    data, placed = written(info, RESPONSE, request, large)
    records = ArchiveIterator(io.BytesIO(data), check_digests="raise")
    seen = []
    for record in records:
        body = record.content_stream().read()
        seen.append((record.rec_type, len(body), records.get_record_offset()))
    assert [(kind, size) for kind, size, _ in seen[1:]] == [("response", 2), ("request", 256), ("response", 3_000_000)]
    assert [offset for *_, offset in seen] == [place.offset for place in placed]


class Sliced:
    """Bytes that come in slices."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def pieces(self) -> Iterator[bytes]:
        return (self._data[at : at + 1000] for at in range(0, len(self._data), 1000))


@pytest.mark.parametrize("data", [b"", b"hi", b"long " * 500_000, os.urandom(2_000_000)], ids=len)
def test_payload_in_slices_is_the_same_record(data: bytes) -> None:
    whole, (placed,) = written(replace(RESPONSE, payload=data))
    sliced, (again,) = written(replace(RESPONSE, payload=Sliced(data)))
    assert gzip.decompress(sliced) == gzip.decompress(whole)
    assert again.payload_digest == placed.payload_digest
    (record,) = [one.content_stream().read() for one in ArchiveIterator(io.BytesIO(sliced), check_digests="raise")]
    assert record == data


def test_what_does_not_shrink_is_stored_and_all_else_is_packed() -> None:
    noise, text = os.urandom(2_000_000), b"long " * 400_000
    stored, _ = written(replace(RESPONSE, payload=noise))
    packed, _ = written(replace(RESPONSE, payload=text))
    assert noise[:1000] in stored
    assert len(packed) < len(text) / 10
