"""Each byte of a signed archive changed in turn: `comity verify` fails every time and says where."""

import io
import os
from pathlib import Path

import pytest

from comity.archive.verify.steps import Verdict
from comity.archive.verify.whole import verify
from tests.unit.archive.packages import package, regions
from tests.unit.archive.test_signing import Signatory

pytestmark = pytest.mark.slow


def reasons(verdict: Verdict) -> str:
    return " ".join(" ".join((step.reason, *step.details)) for step in verdict.failures)


def test_each_byte_of_a_signed_archive_counts_and_its_member_is_named(tmp_path: Path) -> None:
    one = Signatory(tmp_path / "papers")
    whole = package(tmp_path, sign=one.sign)
    assert {step.outcome for step in verify(io.BytesIO(whole), one.trust).steps} == {"ok"}
    places = regions(whole)
    assert sorted(at for place in places.values() for at in place) == list(range(len(whole)))
    unnoticed = []
    for region, place in places.items():
        named = region.removeprefix("content of ") if region.startswith("content") else ""
        for at in place:
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            found = verify(io.BytesIO(changed), one.trust)
            if found.ok or not reasons(found) or named not in reasons(found):
                unnoticed.append((region, at, reasons(found)))
    assert unnoticed == []


def test_no_value_of_a_byte_between_the_members_passes(tmp_path: Path) -> None:
    """All 255 others of each byte of a header, of its entry in the directory, and of the end: no hash covers them.
    In a file on a disk, as people have them.
    """
    whole = package(tmp_path)
    places = regions(whole)
    header = places["header of archive/data.warc.gz"]
    entry = range(places["directory"].start, whole.index(b"PK\x01\x02", places["directory"].start + 4))
    between = [*header, *entry, *places["end"]]
    unnoticed = []
    with (tmp_path / "one.wacz").open("w+b", buffering=0) as file:
        file.write(whole)
        assert verify(file).ok
        for at in between:
            for flip in range(1, 256):
                os.pwrite(file.fileno(), bytes([whole[at] ^ flip]), at)
                found = verify(file)
                if found.ok or not reasons(found):
                    unnoticed.append((at, flip))
            os.pwrite(file.fileno(), whole[at : at + 1], at)
        assert verify(file).ok
    assert unnoticed == []
