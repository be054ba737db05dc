"""The package: stored members, every hash right, equal facts equal bytes."""

import hashlib
import io
import json
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from comity.archive import wacz

MOMENT = datetime(2030, 1, 31, 12, 0, 1, tzinfo=UTC)


@pytest.fixture
def contents(tmp_path: Path) -> wacz.Contents:
    warc = tmp_path / "w"
    warc.write_bytes(b"w" * 2_500_000)
    return wacz.Contents(
        warc=warc,
        index=b"index\n",
        pages=(wacz.Page("p1", "http://a.example/", MOMENT, "灯台", "text"),),
        software="comity 1",
        created=MOMENT,
        title="灯台",
        extra=(wacz.Member("behaviors/reports.jsonl", b"{}\n"),),
        facts={"comity": {"taskId": "t1"}},
    )


def packed(contents: wacz.Contents) -> tuple[bytes, str]:
    out = io.BytesIO()
    digest = wacz.pack(contents, out)
    return out.getvalue(), digest


def test_package_is_stored_and_hashed(contents: wacz.Contents) -> None:
    data, digest = packed(contents)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        assert {info.compress_type for info in package.infolist()} == {zipfile.ZIP_STORED}
        facts = json.loads(package.read("datapackage.json"))
        for item in facts["resources"]:
            member = package.read(item["path"])
            assert item["hash"] == f"sha256:{hashlib.sha256(member).hexdigest()}"
            assert item["bytes"] == len(member)
        told = json.loads(package.read("datapackage-digest.json"))
        assert told == {"path": "datapackage.json", "hash": digest}
        assert digest == f"sha256:{hashlib.sha256(package.read('datapackage.json')).hexdigest()}"
        assert len(package.namelist()) == len(set(package.namelist())) == len(facts["resources"]) + 2
    assert facts["profile"] == "data-package"
    assert facts["wacz_version"] == "1.1.1"
    assert facts["mainPageUrl"] == "http://a.example/"
    assert facts["comity"] == {"taskId": "t1"}


def test_data_follows_each_name_at_once_as_players_expect(contents: wacz.Contents) -> None:
    """Players compute where a record lies without reading the local header's extra field."""
    packed = io.BytesIO()
    wacz.pack(contents, packed)
    raw = packed.getvalue()
    for member in zipfile.ZipFile(packed).infolist():
        name_bytes, extra_bytes = struct.unpack("<HH", raw[member.header_offset + 26 : member.header_offset + 30])
        assert (name_bytes, extra_bytes) == (len(member.filename.encode()), 0)


def test_equal_contents_are_equal_bytes(contents: wacz.Contents) -> None:
    assert packed(contents) == packed(contents)


def test_pages_begin_with_their_header() -> None:
    lines = wacz.pages_jsonl([wacz.Page("p1", "http://a.example/", MOMENT)]).splitlines()
    assert json.loads(lines[0])["format"] == "json-pages-1.0"
    assert json.loads(lines[0])["hasText"] is False
    assert json.loads(lines[1]) == {"id": "p1", "url": "http://a.example/", "ts": "2030-01-31T12:00:01Z"}


def test_half_of_a_surrogate_pair_in_a_title_costs_no_archive() -> None:
    line = wacz.pages_jsonl(
        [wacz.Page("p1", "http://a.example/", MOMENT, title="a\ud83db", text="\udc00")]
    ).splitlines()[1]
    assert (json.loads(line)["title"], json.loads(line)["text"]) == ("a?b", "?")
