"""A watched page's bytes as text, whatever they are: a garbled page is watched on, and how garbled it is gets counted.

Which encoding: a byte order mark, then the `Content-Type` header, then `<meta>` in the first 4096 bytes, then UTF-8
where the bytes are valid UTF-8, then what resiliparse detects. Labels mean what the WHATWG Encoding Standard says;
one that it does not know counts as none. A label that the bytes contradict is overruled where UTF-8, or the detected
encoding, has them all: sites that send Shift_JIS as UTF-8 are read as their readers read them.
"""

import codecs
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import turbohtml
import turbohtml.detect  # registers the whatwg-* codecs
from resiliparse.parse.encoding import detect_encoding

from comity.polite.rules.meta_charset import declared_in_meta, label_in_content_type

PRESCAN_BYTES = 4096
MAX_LABEL = 40
DETECT_BYTES = 65_536
"""So much is sampled, half from each end."""
OVERRULED_FROM = 0.02
"""A label is doubted when this part of the characters beyond ASCII could not be decoded."""
OVERRULED_BAD = 4
"""Fewer bad bytes than this are a slip and no wrong label."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_IN_PYTHON = {"UTF-8": "utf-8", "UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be"}
_ISO_2022 = b"\x1b$B"
_STANDARD_NAMES = {"cp949": "euc-kr", "uhc": "euc-kr", "cp932": "shift_jis", "mac_cyrillic": "x-mac-cyrillic"}
_REPLACEMENT = "\ufffd"

Source = Literal["bom", "header", "meta", "valid-utf-8", "detected"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """`replaced` counts what could not be decoded and stands as U+FFFD in `text`."""

    text: str
    encoding: str
    """Name in the WHATWG standard, lower case."""
    source: Source
    replaced: int
    overruled: str | None = None
    """The label that the page carries, where its bytes said otherwise."""


def decode(body: bytes, content_type: str | None = None) -> Decoded:
    """Never fails: see `Decoded.replaced`."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], codec, "bom")
    source: Source = "header"
    codec_of = codec_named(label_in_content_type(content_type or ""))
    if codec_of is None:
        source = "meta"
        codec_of = codec_named(_in_meta(body[:PRESCAN_BYTES]))
    if codec_of is None:
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return _decoded(body, detected_codec(body), "detected")
        if _ISO_2022 in body:  # seven bits wide, so valid UTF-8 too
            return _decoded(body, "whatwg-iso-2022-jp", "detected")
        return Decoded(text, "utf-8", "valid-utf-8", 0)
    found = _decoded(body, codec_of, source)
    if found.encoding == "utf-8":
        return _doubted(found, body) if found.replaced >= OVERRULED_BAD else found
    return _rather_utf_8(found, body)


def _doubted(found: Decoded, body: bytes) -> Decoded:
    """The page as the detected encoding reads it, where that reads all of it."""
    beyond_ascii = sum(not character.isascii() for character in found.text[:DETECT_BYTES])
    if found.replaced < OVERRULED_FROM * beyond_ascii:
        return found
    other = _decoded(body, detected_codec(body), "detected")
    if other.replaced or other.encoding == found.encoding:
        return found
    return Decoded(other.text, other.encoding, "detected", 0, overruled=found.encoding)


def _rather_utf_8(found: Decoded, body: bytes) -> Decoded:
    """Text of a legacy encoding is next to never valid UTF-8 by chance."""
    if body.isascii() or found.encoding.startswith("utf-16"):
        return found
    try:
        return Decoded(body.decode("utf-8"), "utf-8", "valid-utf-8", 0, overruled=found.encoding)
    except UnicodeDecodeError:
        return _doubted(found, body) if found.replaced >= OVERRULED_BAD else found


def _in_meta(head: bytes) -> str | None:
    return declared_in_meta(head) if b"charset" in head.lower() else None


def _decoded(body: bytes, codec: str, source: Source) -> Decoded:
    text = codecs.decode(body, codec, "replace")
    replaced = text.count(_REPLACEMENT) if _REPLACEMENT in text else 0
    if replaced and codec == "utf-8":
        replaced -= body.count(b"\xef\xbf\xbd")  # somebody else's, and sent as such
    return Decoded(text, codec.removeprefix("whatwg-"), source, replaced)


def detected_codec(body: bytes) -> str:
    """What resiliparse takes the bytes for; windows-1252, as browsers do, where it knows nothing better than UTF-8."""
    name = (detect_encoding(body, max_len=DETECT_BYTES, html5_compatible=False) or "").lower()
    name = _STANDARD_NAMES.get(name, name).replace("cp125", "windows-125").replace("iso2022", "iso-2022")
    codec = codec_named(name) or codec_named(name.replace("_", "-"))
    return "whatwg-windows-1252" if codec is None or codec == "utf-8" else codec


@lru_cache(maxsize=512)
def codec_named(label: str | None) -> str | None:
    """The codec for a label of the standard; None for any other, and for those that it maps to `replacement`."""
    name = (label or "").strip("\t\n\f\r ").lower()
    if not name or not name.isascii() or len(name) > MAX_LABEL:
        return None
    try:
        canonical = turbohtml.parse(b"", encoding=name).encoding
    except LookupError:
        return None
    if canonical is None or canonical == "replacement":
        return None
    return _IN_PYTHON.get(canonical, f"whatwg-{canonical.lower()}")
