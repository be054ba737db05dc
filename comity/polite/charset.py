"""The bytes of an HTML page as text, by the WHATWG Encoding Standard, with one difference: errors are not papered over.

Which encoding: a byte order mark beats the `Content-Type` header, which beats `<meta>` in the first 4096 bytes, which
beats UTF-8. Labels mean what browsers take them for, apart from four that are taken at their word: `iso-8859-1`
(and `latin1`) is Latin-1 and not windows-1252, `us-ascii` is seven bits wide, and `utf-16` is little endian.

The tables are turbohtml's: Python's own codecs differ from the standard in euc_jp, big5hkscs, gb18030, cp932, koi8-u
and most windows-125x, and know no x-mac-cyrillic.
"""

import codecs
from functools import lru_cache

import turbohtml
import turbohtml.detect  # registers the whatwg-* codecs

from comity.polite.errors import CharsetError
from comity.polite.rules.meta_charset import declared_in_meta, label_in_content_type

PRESCAN_BYTES = 4096
MAX_LABEL = 40
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_TAKEN_AT_THEIR_WORD = {
    "iso-8859-1": "latin-1",
    "iso8859-1": "latin-1",
    "latin1": "latin-1",
    "latin-1": "latin-1",
    "us-ascii": "ascii",
    "ascii": "ascii",
}
_STRICT_IN_PYTHON = {"UTF-8": "utf-8", "UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be"}
_FFFD_IN_GB18030 = b"\x84\x31\xa4\x37"


def decode_html(body: bytes, content_type: str | None = None) -> str:
    """`body` as text without its byte order mark. `content_type` is the header's value, with or without a charset.

    Raises CharsetError: E_HTML_CHARSET_UNSUPPORTED for a label that the standard does not know or that it maps to
    `replacement`, E_HTML_DECODE for bytes that the encoding does not have.
    """
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return _strictly(body[len(mark) :], codec)
    label = label_in_content_type(content_type or "") or declared_in_meta(body[:PRESCAN_BYTES])
    if label is None:
        return _strictly(body, "utf-8")
    codec = codec_for(label)
    return _by_the_standard(body, codec) if codec.startswith("whatwg-") else _strictly(body, codec)


@lru_cache(maxsize=256)
def codec_for(label: str) -> str:
    """The codec that decodes what `label` names; CharsetError for a label without one."""
    name = label.strip("\t\n\f\r ").lower()
    if codec := _TAKEN_AT_THEIR_WORD.get(name):
        return codec
    canonical: str | None = None
    if name.isascii() and len(name) <= MAX_LABEL:
        try:
            canonical = turbohtml.parse(b"", encoding=name).encoding
        except LookupError:
            canonical = None
    if canonical is None or canonical == "replacement":
        raise CharsetError(
            "E_HTML_CHARSET_UNSUPPORTED",
            f"the page says that its charset is {label[:MAX_LABEL]!r}, which no browser decodes; "
            "give its text instead of its bytes, or another Content-Type",
        )
    return _STRICT_IN_PYTHON.get(canonical, f"whatwg-{canonical.lower()}")


def _strictly(body: bytes, codec: str) -> str:
    try:
        return body.decode(codec)
    except UnicodeDecodeError as error:
        raise _undecodable(codec, f"byte {error.start}: {error.reason}") from None


def _by_the_standard(body: bytes, codec: str) -> str:
    """These decoders put U+FFFD where the standard would; of all legacy encodings only gb18030 can also spell it."""
    text = codecs.decode(body, codec)
    at = text.find("\ufffd")
    if at < 0 or (codec in ("whatwg-gb18030", "whatwg-gbk") and _is_spelled_out(body)):
        return text
    raise _undecodable(codec.removeprefix("whatwg-"), f"character {at}")


def _is_spelled_out(body: bytes) -> bool:
    if _FFFD_IN_GB18030 not in body:
        return False
    try:
        body.decode("gb18030")
    except UnicodeDecodeError:
        return False
    return True


def _undecodable(codec: str, where: str) -> CharsetError:
    return CharsetError(
        "E_HTML_DECODE", f"the page is not valid {codec} ({where}); give its true charset as Content-Type, or its text"
    )
