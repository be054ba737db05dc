"""Any archive is checked and each step explained; one byte changed anywhere is found and named."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from comity.archive import warc
from comity.archive.verify.steps import Verdict
from comity.archive.verify.whole import verify
from comity.archive.warc_reader import BrokenWarcError, read_records
from tests.unit.archive.packages import MOMENT, URLS, members, package, regions, rehashed, repacked

INTEGRITY = ("zip", "stored", "datapackage", "digest", "resources", "records", "index", "pages")


def verdict(data: bytes) -> Verdict:
    return verify(io.BytesIO(data))


def outcomes(data: bytes) -> dict[str, str]:
    return {step.name: step.outcome for step in verdict(data).steps if step.name in INTEGRITY}


def failures(data: bytes) -> dict[str, str]:
    return {step.name: " ".join((step.reason, *step.details)) for step in verdict(data).failures}


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    return package(tmp_path)


def test_whole_archive_is_ok_in_every_step(whole: bytes) -> None:
    assert outcomes(whole) == dict.fromkeys(INTEGRITY, "ok")
    assert verdict(whole).ok


def test_one_byte_changed_anywhere_is_found_and_named(whole: bytes) -> None:
    assert [at for at in range(len(whole)) if unnoticed(whole, [at], 1 << at % 8)] == []


def test_one_byte_cut_off_or_added_is_found(whole: bytes) -> None:
    assert not verdict(whole[:-1]).ok
    assert not verdict(whole + b"x").ok
    assert not verdict(b"x" + whole).ok


def unnoticed(data: bytes, places: Iterable[int], *flips: int) -> list[tuple[int, int]]:
    """Where and how a byte can be changed so that no step fails, or one fails without saying why."""
    found = []
    for at in places:
        for flip in flips:
            changed = bytearray(data)
            changed[at] ^= flip
            after = verdict(bytes(changed))
            if after.ok or not all(step.reason for step in after.failures):
                found.append((at, flip))
    return found


VERSIONS = 20 ^ 45
"""Both of which a reader of ZIPs takes, the second where there is a ZIP64 field."""


@pytest.mark.parametrize("region", ["header of pages/pages.jsonl", "content of pages/pages.jsonl", "directory", "end"])
def test_no_region_of_the_zip_has_a_byte_to_spare(whole: bytes, region: str) -> None:
    assert unnoticed(whole, regions(whole)[region], 0xFF, 0x20, VERSIONS) == []


def commented(data: bytes, comment: bytes) -> bytes:
    return data[:-2] + len(comment).to_bytes(2, "little") + comment


def test_comment_is_no_part_of_ours_and_allowed_to_others(whole: bytes, tmp_path: Path) -> None:
    assert "the directory's end is not as it was written" in failures(commented(whole, b"p.s."))["zip"]
    other = package(tmp_path, software="another tool 2")
    (zip_step, *_) = verdict(commented(other, b"p.s.")).steps
    assert zip_step.outcome == "ok"
    assert "nothing vouches for 4 bytes" in zip_step.reason
    assert "vouches" not in verdict(other).steps[0].reason


def test_time_of_members_is_the_packages(whole: bytes) -> None:
    moment = (MOMENT.hour << 11 | MOMENT.minute << 5 | MOMENT.second // 2).to_bytes(2, "little")
    later = (int.from_bytes(moment, "little") + 1).to_bytes(2, "little")
    assert whole.count(moment) == 2 * len(members(whole))
    assert "its time is not the package's" in failures(whole.replace(moment, later))["zip"]


def test_large_archive_of_any_maker_is_whole_and_ours_has_no_byte_to_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From 2 GiB on what is long or far is told in ZIP64 fields; here from 1000 bytes on."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    large = package(tmp_path)
    assert outcomes(large) == dict.fromkeys(INTEGRITY, "ok")
    assert b"PK\x06\x06" in large
    assert outcomes(package(tmp_path, software="another tool 2")) == dict.fromkeys(INTEGRITY, "ok")
    records = [at for name, place in regions(large).items() if not name.startswith("content") for at in place]
    assert unnoticed(large, records, 0xFF, VERSIONS) == []


def test_offset_that_no_file_can_seek_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    large = bytearray(package(tmp_path, software="another tool 2"))
    field = large.rindex(b"\x01\x00\x08\x00")
    large[field + 4 : field + 12] = b"\xff" * 8
    assert "no header where the directory says" in failures(bytes(large))["zip"]


def test_changed_record_is_named_by_every_step_that_sees_it(whole: bytes) -> None:
    changed = bytearray(whole)
    changed[whole.index(b"\x1f\x8b") + 40] ^= 0x10
    said = failures(bytes(changed))
    assert "archive/data.warc.gz" in said["zip"]
    assert "archive/data.warc.gz" in said["resources"]
    assert "archive/data.warc.gz" in said["records"]


def test_archive_of_another_maker_is_judged_by_the_format_alone(tmp_path: Path) -> None:
    contents = members(package(tmp_path, software="another tool 2"))
    deflated = frozenset({"pages/pages.jsonl", "datapackage.json"})
    assert outcomes(repacked(contents, deflate=deflated)) == dict.fromkeys(INTEGRITY, "ok")


def test_archive_of_another_maker_may_have_been_streamed(tmp_path: Path) -> None:
    piped = repacked(members(package(tmp_path, software="another tool 2")), piped=True)
    assert outcomes(piped) == dict.fromkeys(INTEGRITY, "ok")
    descriptors = 16 * len(members(piped))
    assert f"nothing vouches for {descriptors} bytes" in verdict(piped).steps[0].reason
    ours = repacked(members(package(tmp_path)), piped=True)
    assert "header is not as it was written" in failures(ours)["zip"]


def test_no_zip_fails_and_skips_the_rest() -> None:
    found = outcomes(b"not a zip at all")
    assert found.pop("zip") == "failed"
    assert set(found.values()) == {"skipped"}


def test_missing_digest_is_allowed_but_told(whole: bytes) -> None:
    contents = members(repacked(members(whole)))
    del contents["datapackage-digest.json"]
    steps = {step.name: step for step in verdict(repacked(contents)).steps}
    assert steps["digest"].outcome == "skipped"
    assert "nothing vouches" in steps["digest"].reason


def _without_entry(contents: dict[str, bytes]) -> None:
    contents["indexes/index.cdx"] = contents["indexes/index.cdx"].splitlines(keepends=True)[1]


def _wrong_offset(contents: dict[str, bytes]) -> None:
    contents["indexes/index.cdx"] = contents["indexes/index.cdx"].replace(b'"offset": "', b'"offset": "9', 1)


def _wrong_url(contents: dict[str, bytes]) -> None:
    index = contents["indexes/index.cdx"]
    contents["indexes/index.cdx"] = index.replace(f'"url": "{URLS[1]}"'.encode(), b'"url": "http://b.example/"')


def _wrong_digest(contents: dict[str, bytes]) -> None:
    contents["indexes/index.cdx"] = contents["indexes/index.cdx"].replace(b'"sha256:', b'"sha256:0', 1)


def _out_of_order(contents: dict[str, bytes]) -> None:
    contents["indexes/index.cdx"] = b"".join(reversed(contents["indexes/index.cdx"].splitlines(keepends=True)))


def _no_index(contents: dict[str, bytes]) -> None:
    del contents["indexes/index.cdx"]


def _page_elsewhere(contents: dict[str, bytes]) -> None:
    contents["pages/pages.jsonl"] += b'{"id": "p2", "url": "http://b.example/"}\n'


def _no_pages(contents: dict[str, bytes]) -> None:
    del contents["pages/pages.jsonl"]


def _stowaway(contents: dict[str, bytes]) -> None:
    contents["archive/other.txt"] = b"who put me here"


def _no_warc(contents: dict[str, bytes]) -> None:
    del contents["archive/data.warc.gz"]


@pytest.mark.parametrize(
    ("lie", "step", "said"),
    [
        (_without_entry, "pages", f"{URLS[0]} is not in the index"),
        (_wrong_offset, "index", "no record begins at offset 9"),
        (_wrong_url, "index", f"the record there is of {URLS[1]}"),
        (_wrong_digest, "index", "its digest is not the record's"),
        (_out_of_order, "index", "out of order"),
        (_no_index, "index", "no index"),
        (_page_elsewhere, "pages", "http://b.example/ is not in the index"),
        (_no_pages, "pages", "pages/pages.jsonl is missing"),
        (_stowaway, "resources", "archive/other.txt: is not listed"),
        (_no_warc, "resources", "archive/data.warc.gz: is listed but not there"),
        (_no_warc, "records", "no WARC"),
    ],
)
def test_lie_that_no_hash_gives_away_is_named(
    tmp_path: Path, lie: Callable[[dict[str, bytes]], None], step: str, said: str
) -> None:
    contents = members(package(tmp_path, software="another tool 2"))
    assert failures(repacked(rehashed(contents))) == {}
    lie(contents)
    assert said in failures(repacked(rehashed(contents)))[step]


def test_record_that_does_not_match_its_digests_is_named(tmp_path: Path) -> None:
    contents = members(package(tmp_path, software="another tool 2"))
    plain = gzip.decompress(contents["archive/data.warc.gz"]).replace(
        b"body of http://a.example/picture", b"Body of http://a.example/picture"
    )
    contents["archive/data.warc.gz"] = _members_of(plain)
    said = failures(repacked(rehashed(contents)))["records"]
    assert f"of {URLS[1]}: its block does not match" in said
    assert f"of {URLS[1]}: its payload does not match" in said
    assert f"of {URLS[0]}:" not in said


def _members_of(plain: bytes) -> bytes:
    parts = plain.split(b"WARC/1.1\r\n")[1:]
    return b"".join(gzip.compress(b"WARC/1.1\r\n" + part, mtime=0) for part in parts)


def test_deflated_warc_cannot_be_read_by_range(whole: bytes) -> None:
    contents = members(whole)
    said = failures(repacked(contents, deflate=frozenset({"archive/data.warc.gz"})))
    assert "archive/data.warc.gz" in said["stored"]


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda facts: facts.pop("resources"), "datapackage"),
        (lambda facts: facts["resources"][0].pop("hash"), "datapackage"),
        (lambda facts: facts.update(profile="something"), "datapackage"),
    ],
)
def test_description_must_hold_what_the_format_demands(
    whole: bytes, change: Callable[[dict[str, Any]], None], step: str
) -> None:
    assert step in failures(repacked(rehashed(members(whole), change)))


def record(block: bytes, **headers: str) -> bytes:
    named = {"WARC-Type": "response", "Content-Type": "application/http", "Content-Length": str(len(block))} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"WARC/1.0\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("digest", "checked", "problems"),
    [
        ("sha1:FR35EWV7NQFYRNX6NMCZMTG36RA3WJBK", 1, 0),
        ("sha1:2c77d25abf6c0b88b6fe6b059 ", 0, 1),
        ("md5:841a2d689ad86bd1611447453c22c6fc", 1, 0),
        ("whirlpool:00", 0, 0),
    ],
)
def test_digests_of_other_tools_are_read(digest: str, checked: int, problems: int) -> None:
    block = b"HTTP/1.1 200 OK\r\n\r\nbody"
    if digest.startswith("sha1:FR"):
        import base64
        import hashlib

        digest = "sha1:" + base64.b32encode(hashlib.sha1(b"body").digest()).decode()
    (found,) = read_records([record(block, WARC_Payload_Digest=digest)])
    assert (found.checked, len(found.problems)) == (checked, problems)
    assert found.checked + found.unchecked + len(found.problems) == 1


def test_plain_and_packed_files_give_the_same_records_however_they_are_sliced(tmp_path: Path) -> None:
    packed = members(package(tmp_path))["archive/data.warc.gz"]
    plain = gzip.decompress(packed)
    for size in (1, 7, 1 << 20):
        one = list(read_records(_sliced(packed, size)))
        other = list(read_records(_sliced(plain, size)))
        assert [(facts.type, facts.url, facts.checked) for facts in one] == [
            (facts.type, facts.url, facts.checked) for facts in other
        ]
        assert sum(facts.length for facts in one) == len(packed)
        assert sum(facts.length for facts in other) == len(plain)


def _sliced(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(record(b"HTTP/1.1 200 OK\r\n\r\n") * 2, mtime=0), "more than one record"),
        (record(b"xyz")[:-5], "cut off"),
        (record(b"xyz", Content_Length="2"), "Content-Length"),
        (record(b"x", Content_Length="many"), "no Content-Length"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "does not begin with WARC"),
        (gzip.compress(record(b"x"), mtime=0)[:-20], "offset 0"),
    ],
)
def test_broken_files_are_told_with_their_place(data: bytes, said: str) -> None:
    with pytest.raises(BrokenWarcError, match=said):
        list(read_records([data]))


def test_what_is_unchecked_is_counted_not_passed(tmp_path: Path) -> None:
    out = io.BytesIO()
    writer = warc.WarcWriter(out)
    writer.write(
        warc.Record("revisit", MOMENT, warc.HTTP_RESPONSE, b"HTTP/1.1 200 OK\r\n\r\n", b"", target_uri=URLS[0])
    )
    (found,) = read_records([out.getvalue()])
    assert (found.checked, found.unchecked) == (1, 1)


def test_foreign_index_without_algorithm_names_is_taken(tmp_path: Path) -> None:
    contents = members(package(tmp_path, software="another tool 2"))
    lines = []
    for line in contents["indexes/index.cdx"].decode().splitlines():
        key, moment, facts = line.split(" ", 2)
        named = json.loads(facts)
        named["digest"] = named["digest"].partition(":")[2]
        lines.append(f"{key} {moment} {json.dumps(named)}\n")
    contents["indexes/index.cdx"] = "".join(lines).encode()
    assert failures(repacked(rehashed(contents))) == {}
