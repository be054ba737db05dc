"""HTTP messages as WARC blocks.

A browser gives bodies decoded: content and transfer encodings undone. A block whose headers still named them would
be unreadable, so those headers move to `X-Archive-Orig-*` and `Content-Length` says what is stored, as the field's
other tools (pywb, warcio) do. All else stays byte for byte as it came.
"""

from collections.abc import Iterable, Sequence
from http import HTTPStatus

ORIGINAL_PREFIX = "X-Archive-Orig-"
UNDONE = frozenset({"content-encoding", "transfer-encoding"})

Headers = Sequence[tuple[str, str]]


def split_headers(named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers as a browser tells them to single lines: repeated ones come joined by line feeds; `:pseudo` ones go."""
    return [(name, part) for name, value in named if not name.startswith(":") for part in value.split("\n")]


def reason_phrase(status: int, given: str) -> str:
    """What stands after the status: as given, else the registered phrase (HTTP/2 has none)."""
    if given:
        return given
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def response_head(*, status: int, phrase: str, headers: Headers, text: str | None, body_bytes: int) -> bytes:
    """The status line and headers of a response whose decoded body has `body_bytes` bytes.

    `text` is the header block as it came over HTTP/1.1, used byte for byte; None: built from `headers`.
    """
    lines = _lines_of(text) if text else None
    if lines:
        first, rest = lines[0], lines[1:]
    else:
        first = f"HTTP/1.1 {status} {reason_phrase(status, phrase)}".rstrip()
        rest = [f"{name}: {value}" for name, value in headers]
    return _block(first, _with_stored_length(rest, body_bytes))


def request_head(*, method: str, target: str, host: str, headers: Headers) -> bytes:
    """The request line and headers. HTTP/2 names its host in a pseudo header: added where `Host` is missing."""
    lines = [f"{name}: {value}" for name, value in headers]
    if not any(name.lower() == "host" for name, _ in headers):
        lines.insert(0, f"Host: {host}")
    return _block(f"{method} {target} HTTP/1.1", lines)


def _lines_of(text: str) -> list[str]:
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def _name_of(line: str) -> str:
    return "" if line[:1] in (" ", "\t") else line.partition(":")[0].strip().lower()


def _with_stored_length(lines: list[str], body_bytes: int) -> list[str]:
    """Renames what was undone, and the length where it no longer holds."""
    lengths = [line.partition(":")[2].strip() for line in lines if _name_of(line) == "content-length"]
    undone = any(_name_of(line) in UNDONE for line in lines)
    length_holds = not undone and all(length == str(body_bytes) for length in lengths)
    moved = UNDONE if length_holds else UNDONE | {"content-length"}
    kept = [f"{ORIGINAL_PREFIX}{line}" if _name_of(line) in moved else line for line in lines]
    if not length_holds:
        kept.append(f"Content-Length: {body_bytes}")
    return kept


def _block(first: str, lines: list[str]) -> bytes:
    text = "\r\n".join([first, *lines, "", ""])
    try:
        return text.encode("latin-1")  # a browser tells header bytes as Latin-1 characters
    except UnicodeEncodeError:
        return text.encode("utf-8")
