"""Bytes of pages as text, strictly."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.polite.charset import decode_html
from comity.polite.errors import CharsetError

JAPANESE = "日本語"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (JAPANESE.encode(), None, JAPANESE),
        (JAPANESE.encode(), "text/html", JAPANESE),
        (JAPANESE.encode("euc-jp"), "text/html; charset=euc-jp", JAPANESE),
        (JAPANESE.encode("euc-jp"), 'text/html;boundary=x; CharSet = " EUC-JP "', JAPANESE),
        (JAPANESE.encode("shift_jis"), "text/html; charset=ms_kanji", JAPANESE),
        (b"\xef\xbb\xbf" + JAPANESE.encode(), "text/html; charset=euc-jp", JAPANESE),
        (b"\xff\xfe" + JAPANESE.encode("utf-16-le"), "text/html; charset=utf-8", JAPANESE),
        (b"\xfe\xff" + JAPANESE.encode("utf-16-be"), None, JAPANESE),
        (JAPANESE.encode("utf-16-le"), "text/html; charset=utf-16", JAPANESE),
        (JAPANESE.encode("utf-16-be"), "text/html; charset=utf-16be", JAPANESE),
        (b"\x80\xe9", "text/html; charset=iso-8859-1", "\x80é"),
        (b"\x80\xe9", "text/html; charset=windows-1252", "€é"),
        (b"\x81", "text/html; charset=cp1252", "\x81"),
        (b"abc", "text/html; charset=us-ascii", "abc"),
        (b"\xae", "text/html; charset=koi8-u", "ў"),
        (b"\xa1\xc1", "text/html; charset=euc-jp", "～"),
        (b"\x80", "text/html; charset=gbk", "€"),
        (b"\x84\x31\xa4\x37", "text/html; charset=gb18030", "\ufffd"),
        (b"\xef\xbf\xbd", None, "\ufffd"),
    ],
)
def test_decodes(body: bytes, content_type: str | None, text: str) -> None:
    assert decode_html(body, content_type) == text


@pytest.mark.parametrize(
    ("head", "letter"),
    [
        (b"<meta charset=windows-1251>", "а"),
        (b"<!-- <meta charset=x> --><META  CharSet = 'Windows-1251' />", "а"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>", "а"),
        (b"<meta content='text/html; charset = \"windows-1251\"' http-equiv='content-type'>", "а"),
        (b"<a title='<meta charset=koi8-r>'><meta charset=windows-1251>", "а"),
        (b"<meta name=x content='charset=koi8-r'><meta charset=windows-1251>", "а"),
        (b"<!--><meta charset=windows-1251>", "а"),
        (b"<meta charset=x-user-defined>", "à"),
        (b" " * 4060 + b"<meta charset=windows-1251>", "а"),
    ],
)
def test_meta_declares(head: bytes, letter: str) -> None:
    assert decode_html(head + b"\xe0") == head.decode() + letter


def test_header_beats_meta() -> None:
    assert decode_html(b"<meta charset=koi8-r>\xe0", "text/html; charset=windows-1251").endswith("а")


def test_meta_that_says_utf_16_was_read_as_bytes_and_means_utf_8() -> None:
    assert decode_html(b"<meta charset=utf-16>" + JAPANESE.encode()).endswith(JAPANESE)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\xff", None),
        (b" " * 4096 + b"<meta charset=windows-1251>\xe0", None),
        (b"\xe9", "text/html; charset=us-ascii"),
        (b"A\xff\xffB", "text/html; charset=euc-jp"),
        (b"\xa0", "text/html; charset=shift_jis"),
        (b"a", "text/html; charset=utf-16"),
        (b"\x00\xd8", "text/html; charset=utf-16le"),
        (b"\xff\xff", "text/html; charset=gb18030"),
        (b"\x84\x31\xa4\x37\xff", "text/html; charset=gb18030"),
        (b"\x1b$B\xff\xff", "text/html; charset=iso-2022-jp"),
        (b"\xef\xbb\xbf\xff", None),
    ],
)
def test_bytes_that_the_charset_does_not_have_are_an_error(body: bytes, content_type: str | None) -> None:
    with pytest.raises(CharsetError) as caught:
        decode_html(body, content_type)
    assert caught.value.code == "E_HTML_DECODE"


@pytest.mark.parametrize(
    "label",
    ["x", "iso-2022-kr", "hz-gb-2312", "replacement", "utf-7", "utf-32", "idna", "rot13", "ü", "a" * 10_000, "\0"],
)
def test_charsets_that_no_browser_decodes_are_refused(label: str) -> None:
    with pytest.raises(CharsetError) as caught:
        decode_html(b"x", f"text/html; charset={label}")
    assert caught.value.code == "E_HTML_CHARSET_UNSUPPORTED"


def test_an_unknown_label_in_meta_is_refused_too() -> None:
    with pytest.raises(CharsetError):
        decode_html(b"<meta charset=nothing>x")


@given(st.binary(max_size=200), st.text(max_size=40))
def test_anything_is_text_or_a_charset_error(body: bytes, content_type: str) -> None:
    with suppress(CharsetError):
        assert isinstance(decode_html(b"<meta " + body, content_type), str)
