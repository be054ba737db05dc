"""Ranges and signatures: who may read which bytes."""

from datetime import UTC, datetime

import pytest

from ledger.rules.byte_range import Unsatisfiable, byte_range, still_the_same
from ledger.rules.signed_url import SECONDS, holds, signature

KEY = b"k" * 32
NOW_S = 1_900_000_000


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, None),
        ("bytes=0-0", range(1)),
        ("bytes=2-4", range(2, 5)),
        ("bytes=2-", range(2, 10)),
        ("bytes=2-999", range(2, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-999", range(10)),
        ("Bytes= 1-1 ", range(1, 2)),
        ("bytes=4-2", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=a-b", None),
    ],
)
def test_range_is_what_was_asked_for_or_the_whole(asked: str | None, expected: range | None) -> None:
    assert byte_range(asked, 10) == expected


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=999999999999999999-"])
def test_range_behind_the_end_is_refused(asked: str) -> None:
    with pytest.raises(Unsatisfiable):
        byte_range(asked, 10)


def test_any_range_of_an_empty_file_is_refused() -> None:
    for asked in ("bytes=0-", "bytes=-1"):
        with pytest.raises(Unsatisfiable):
            byte_range(asked, 0)


@pytest.mark.parametrize(
    ("if_range", "holds"),
    [
        (None, True),
        ('"tag"', True),
        ('"other"', False),
        ('W/"tag"', False),
        ("Thu, 31 Jan 2030 12:00:00 GMT", True),
        ("Thu, 31 Jan 2030 12:00:01 GMT", False),
        ("Thu, 31 Jan 2030 11:59:59 GMT", False),
        ("nonsense", False),
        ("", False),
    ],
)
def test_if_range_lets_the_range_stand_for_the_same_bytes_alone(if_range: str | None, holds: bool) -> None:
    at = datetime(2030, 1, 31, 12, 0, 0, 500, tzinfo=UTC)
    assert still_the_same(if_range, tag="tag", modified_at=at) is holds


def test_signature_holds_until_it_expires() -> None:
    expires_s = NOW_S + SECONDS
    given = signature(KEY, "p1", expires_s)
    assert holds(KEY, "p1", str(expires_s), given, now_s=NOW_S)
    assert holds(KEY, "p1", str(expires_s), given, now_s=expires_s - 1)
    assert not holds(KEY, "p1", str(expires_s), given, now_s=expires_s)


@pytest.mark.parametrize(
    ("ident", "expires", "given"),
    [
        ("p2", str(NOW_S + 300), None),
        ("p1", str(NOW_S + 299), None),
        ("p1", str(NOW_S + 300), "x"),
        ("p1", str(NOW_S + 300), ""),
        ("p1", str(NOW_S + 300), "ü"),
        ("p1", "", None),
        ("p1", "-1", None),
        ("p1", "1e10", None),
        ("p1", "٣", None),
        ("p1", "9" * 40, None),
    ],
)
def test_signature_of_anything_else_does_not_hold(ident: str, expires: str, given: str | None) -> None:
    ours = signature(KEY, "p1", NOW_S + 300)
    assert not holds(KEY, ident, expires, ours if given is None else given, now_s=NOW_S)
    assert not holds(b"other" * 8, "p1", str(NOW_S + 300), ours, now_s=NOW_S)


def test_signature_for_longer_than_we_give_does_not_hold() -> None:
    later = NOW_S + 10 * SECONDS
    assert not holds(KEY, "p1", str(later), signature(KEY, "p1", later), now_s=NOW_S)
