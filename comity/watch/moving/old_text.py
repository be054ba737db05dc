"""Text as old databases keep it: bytes of a column that nobody ever declared an encoding for, escaped for HTML.

A title written in 2003 came out of an EUC-JP form, went through an escaping function and into a VARBINARY. Exported by
tools that took the column for Latin-1 it looks like mojibake, exported as it is it is bytes, base64 or hexadecimal.
"""

import base64
import binascii
from html import unescape

DEFAULT_CHARSETS = ("utf-8", "euc_jp", "cp932")
"""Tried in this order: bytes that are valid UTF-8 are hardly ever anything else; the last one takes what is left."""
_ESCAPES = 2
"""Some forms escaped what was escaped."""


def old_text(stored: bytes, charsets: tuple[str, ...] = DEFAULT_CHARSETS) -> str:
    """What a person would have read: decoded by the first charset that fits, entities resolved, white space tidied.

    Where none fits, the last one decides, with U+FFFD for what it cannot read.
    """
    text = _decoded(stored, charsets)
    for _ in range(_ESCAPES):
        plain = unescape(text)
        if plain == text:
            break
        text = plain
    return " ".join("".join(one if one.isprintable() or one.isspace() else "\ufffd" for one in text).split())


def old_bytes(exported: str, form: str = "text") -> bytes:
    """The column's bytes from how an export wrote them: `base64`, `hex` (0x… too), `latin1` or `text` (UTF-8).

    Raises ValueError that says which form was expected.
    """
    try:
        if form == "base64":
            return base64.b64decode(exported, validate=True)
        if form == "hex":
            return bytes.fromhex(exported.removeprefix("0x").removeprefix("0X"))
        return exported.encode("latin-1" if form == "latin1" else "utf-8")
    except (binascii.Error, ValueError):
        raise ValueError(f"{exported[:60]!r} is not {form}") from None


def _decoded(stored: bytes, charsets: tuple[str, ...]) -> str:
    for charset in charsets:
        try:
            return stored.decode(charset)
        except UnicodeDecodeError:
            continue
    return stored.decode(charsets[-1], "replace")
