"""Text of old databases, and the first comparison with what they kept."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.watch.moving.old_text import old_bytes, old_text
from comity.watch.rules.imported import BASIS, differing
from comity.watch.rules.judging import Changed, Unchanged, Version, judge
from comity.watch.rules.settings import ContentSettings
from comity.watch.rules.volatile import Volatile
from ledger.rules.watch_moving import is_in_part

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("はてなアンテナ".encode("euc_jp"), "はてなアンテナ"),
        ("&lt;b&gt;日記&lt;/b&gt; &amp; 写真".encode("euc_jp"), "<b>日記</b> & 写真"),
        (b"&amp;amp; twice", "& twice"),
        ("もう UTF-8 です &#9731;".encode(), "もう UTF-8 です ☃"),
        ("ｶﾀｶﾅ①".encode("cp932"), "ｶﾀｶﾅ①"),
        (b"plain", "plain"),
        (b"  two\r\n lines\x00 ", "two lines\ufffd"),
        (b"", ""),
        (b"caf\xff\xfe", "caf\ufffd\ufffd"),
    ],
)
def test_title_of_an_old_database_comes_out_as_people_read_it(stored: bytes, text: str) -> None:
    assert old_text(stored) == text


def test_bytes_come_out_of_every_form_of_export() -> None:
    stored = "日記".encode("euc_jp")
    assert old_bytes(base64.b64encode(stored).decode(), "base64") == stored
    assert old_bytes("0x" + stored.hex(), "hex") == stored
    assert old_bytes(stored.decode("latin-1"), "latin1") == stored
    assert old_bytes("日記") == "日記".encode()


@pytest.mark.parametrize(("exported", "form"), [("!!", "base64"), ("0xzz", "hex"), ("日", "latin1")])
def test_export_in_another_form_is_refused(exported: str, form: str) -> None:
    with pytest.raises(ValueError, match=f"is not {form}"):
        old_bytes(exported, form)


@given(st.binary(max_size=200))
def test_any_bytes_give_text(stored: bytes) -> None:
    assert old_text(stored).isprintable() or "\ufffd" in old_text(stored) or old_text(stored) == ""


LINES = ("News of the day", "Nothing has happened here", "since yesterday", "Contact")


def judged(old: str, new: tuple[str, ...]) -> Changed | Unchanged:
    before = Version.of_text(old, AT, kept_bytes=100_000)
    return judge(before, Version(new, AT), ContentSettings(), Volatile(basis=BASIS))


def test_same_words_in_other_lines_are_no_change() -> None:
    verdict = judged("News of the  day Nothing has\nhappened here since\n\nyesterday Contact", LINES)
    assert isinstance(verdict, Unchanged)
    assert verdict.volatile.basis == ContentSettings().basis


def test_text_that_the_other_system_cut_is_no_change() -> None:
    assert isinstance(judged("News of the day Nothing has hap", LINES), Changed)  # a word that was cut is another one
    assert isinstance(judged("News of the day Nothing has", LINES), Unchanged)


def test_change_between_the_systems_is_told_with_its_words() -> None:
    verdict = judged("News of the day Nothing has happened here since last week Contact", LINES)
    assert isinstance(verdict, Changed)
    (hunk,) = verdict.diff.hunks
    assert (hunk.removed, hunk.added) == (["last week"], ["yesterday"])


def test_text_of_another_kind_is_taken_over_untold() -> None:
    assert isinstance(judged("menu login search about imprint privacy", LINES), Unchanged)
    assert differing("", LINES) is None


def test_parts_are_nested_and_of_their_size() -> None:
    for smaller, larger in ((1, 10), (10, 50), (50, 100)):
        one = {number for number in range(20_000) if is_in_part(number, smaller)}
        other = {number for number in range(20_000) if is_in_part(number, larger)}
        assert one < other
        assert len(one) == pytest.approx(200 * smaller, rel=0.25)
    assert all(is_in_part(number, 100) for number in range(1000))
