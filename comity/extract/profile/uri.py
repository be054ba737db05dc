"""URI references by RFC 3986: taken apart (appendix B), resolved (section 5.2), decoded.

Links in pages hold spaces and letters outside ASCII; a resolved URL has them percent-encoded. Control characters,
broken percent signs and a port that is no number make a reference invalid.
"""

from dataclasses import dataclass, replace
from urllib.parse import quote, unquote_to_bytes

_ALLOWED = "!#$%&'()*+,/:;=?@[]~-._"
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.")
_HEX = frozenset("0123456789abcdefABCDEF")


class UriError(ValueError):
    """The text is no URI reference."""


@dataclass(frozen=True, slots=True)
class Uri:
    """The five components; None is not the same as empty."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme is not None else ""
        if self.authority is not None:
            text += f"//{self.authority}"
        text += self.path
        if self.query is not None:
            text += f"?{self.query}"
        if self.fragment is not None:
            text += f"#{self.fragment}"
        return quote(text, safe=_ALLOWED)


def parse_uri(text: str) -> Uri:
    """Raises UriError for what is no URI reference."""
    if any(character < " " or character == "\x7f" for character in text):
        raise UriError("it has a control character")
    _check_escapes(text)
    rest, hashed, fragment = text.partition("#")
    rest, asked, query = rest.partition("?")
    scheme: str | None = None
    before, colon, after = rest.partition(":")
    if colon and "/" not in before:
        if not (before[:1].isascii() and before[:1].isalpha() and set(before) <= _SCHEME):
            raise UriError(f"{before[:40]!r} is no scheme")
        scheme, rest = before.lower(), after
    authority: str | None = None
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        _check_authority(authority)
    return Uri(scheme, authority, rest, query if asked else None, fragment if hashed else None)


def resolve(base: Uri, reference: Uri) -> Uri:
    """`reference` as seen from `base`, which must be absolute (RFC 3986, section 5.2.2)."""
    if reference.scheme is not None:
        return replace(reference, path=_without_dots(reference.path))
    if reference.authority is not None:
        return replace(reference, scheme=base.scheme, path=_without_dots(reference.path))
    if reference.path == "":
        query = base.query if reference.query is None else reference.query
        return replace(base, query=query, fragment=reference.fragment)
    path = reference.path
    if not path.startswith("/"):
        path = (
            f"/{path}" if base.authority is not None and base.path == "" else base.path.rpartition("/")[0] + "/" + path
        )
        if base.authority is None and "/" not in base.path:
            path = reference.path
    return Uri(base.scheme, base.authority, _without_dots(path), reference.query, reference.fragment)


def decoded(text: str) -> str:
    """Percent-decoded as UTF-8; UriError where that is no text."""
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise UriError("its percent-encoding is not UTF-8") from None


def query_values(query: str, name: str) -> list[str]:
    """The decoded values of `name`, in order; `+` is a space, as forms write it."""
    found = []
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if pair and decoded(key.replace("+", " ")) == name:
            found.append(decoded(value.replace("+", " ")))
    return found


def _check_escapes(text: str) -> None:
    at = text.find("%")
    while at >= 0:
        digits = text[at + 1 : at + 3]
        if len(digits) < 2 or not set(digits) <= _HEX:
            raise UriError("it has a percent sign that begins no escape")
        at = text.find("%", at + 3)


def _check_authority(authority: str) -> None:
    host = authority.rpartition("@")[2]
    _, colon, port = host.rpartition(":")
    if colon and not host.endswith("]") and port and not (port.isascii() and port.isdigit()):
        raise UriError(f"{port[:40]!r} is no port")
    if any(character in ' <>"\\^`{|}' for character in authority):
        raise UriError("its host has a character that hosts do not have")
    if "[" in host and not (host.startswith("[") and "]" in host):
        raise UriError("its host has a bracket that is not closed")


def _without_dots(path: str) -> str:
    """The path without `.` and `..` (RFC 3986, section 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0] != ""):
                kept.pop()
            if is_last:
                kept.append("")
        elif segment == ".":
            if is_last:
                kept.append("")
        else:
            kept.append(segment)
    return "/".join(kept)
