"""Bytes of watched pages become text whatever they are, and what could not be read is counted."""

import pytest

from comity.watch.rules.decoding import decode

JAPANESE = "本日は晴天なり。カフェの営業時間は十時から。" * 5
CHINESE = "今天天气很好，我们去公园玩。图书馆八点开门。" * 5
KOREAN = "안녕하세요 오늘은 날씨가 좋습니다 " * 9
RUSSIAN = "Привет мир как дела сегодня хорошая погода " * 5
TEXTS = {
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "iso-2022-jp": JAPANESE,
    "gb18030": CHINESE,
    "big5": "今天天氣很好我們去公園玩" * 9,
    "euc-kr": KOREAN,
    "windows-1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "utf-8": JAPANESE,
}


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_label_in_header_or_meta_or_no_label_gives_the_text(encoding: str, text: str) -> None:
    plain = f"<title>x</title><p>{text}"
    with_meta = f'<meta charset="{encoding}"><p>{text}'
    for page, content_type in ((plain, f"text/html; charset={encoding}"), (with_meta, "text/html"), (plain, None)):
        found = decode(page.encode(encoding), content_type)
        assert (found.text, found.encoding, found.replaced) == (page, encoding, 0), content_type


@pytest.mark.parametrize(("encoding", "text"), [pair for pair in TEXTS.items() if pair[0] != "iso-2022-jp"])
def test_wrong_label_is_overruled_by_bytes_that_say_otherwise(encoding: str, text: str) -> None:
    wrong = "shift_jis" if encoding == "utf-8" else "utf-8"
    found = decode(f"<p>{text}".encode(encoding), f"text/html; charset={wrong}")
    assert (found.text, found.encoding, found.overruled) == (f"<p>{text}", encoding, wrong)


def test_byte_order_mark_beats_every_label() -> None:
    found = decode(b"\xff\xfeh\x00i\x00", "text/html; charset=utf-8")
    assert (found.text, found.source) == ("hi", "bom")


def test_bad_bytes_are_replaced_and_counted_and_the_label_stands() -> None:
    found = decode(b"caf\xc3\xa9 " * 100 + b"\xff", "text/html; charset=utf-8")
    assert (found.encoding, found.replaced) == ("utf-8", 1)
    assert found.text.endswith("\ufffd")


def test_replacement_characters_that_the_page_itself_has_are_not_counted() -> None:
    assert decode("a \ufffd b".encode(), "text/html; charset=utf-8").replaced == 0


@pytest.mark.parametrize("label", ["nonsense", "x" * 500, "é", "replacement", ""])
def test_unknown_label_counts_as_none(label: str) -> None:
    assert decode("<p>é".encode(), f"text/html; charset={label}").text == "<p>é"


@pytest.mark.parametrize("body", [b"", b"\x00" * 5000, bytes(range(256)) * 40, b"\x1b$B" * 999])
def test_nothing_is_a_failure(body: bytes) -> None:
    assert isinstance(decode(body).text, str)
