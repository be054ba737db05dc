"""KDL text as tokens.

The accepted KDL is a subset of KDL 2.0 (https://kdl.dev/spec/): ASCII identifiers, no bare-word values, no line
continuation, no multi-line escaped strings, integers of 64 bits, finite floats. What is outside is a token of kind
`bad` that carries its reason, so that the parser can go on after it.
"""

import math
import re
from typing import Literal, NamedTuple

from comity.extract.ir.scalars import Scalar

Kind = Literal[
    "name", "value", "bad", "newline", "open", "close", "semicolon", "equals", "slashdash", "annotation", "end"
]

_NEWLINE = r"\n\r\u0085\u000b\u000c\u2028\u2029"
_SPACE = r" \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_TOKEN = re.compile(
    rf"""
    (?P<space>[{_SPACE}]+)
  | (?P<newline>\r\n|[{_NEWLINE}])
  | (?P<comment>//[^{_NEWLINE}]*)
  | (?P<block>/\*)
  | (?P<slashdash>/-)
  | (?P<keyword>\#[A-Za-z-]+)
  | (?P<raw>\#+"*)
  | (?P<multiline>\"{{3}})
  | (?P<string>"(?:[^"\\{_NEWLINE}]|\\[^{_NEWLINE}])*")
  | (?P<number>[+-]?[0-9](?:[eE][+-]|[0-9A-Za-z_.])*)
  | (?P<name>[A-Za-z_][A-Za-z0-9_-]*)
  | (?P<open>\{{) | (?P<close>\}}) | (?P<semicolon>;) | (?P<equals>=) | (?P<annotation>\()
  | (?P<unclosed>"[^{_NEWLINE}]*)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(f"[{_NEWLINE}]")
_BLOCK_EDGE = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u\{[0-9A-Fa-f]{1,6}\}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "b": "\b", "f": "\f", "s": " "}
_INTEGER = re.compile(r"([+-]?)(?:0x([0-9A-Fa-f][0-9A-Fa-f_]*)|0o([0-7][0-7_]*)|0b([01][01_]*)|([0-9][0-9_]*))")
_FLOAT = re.compile(r"[+-]?[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?")
_BASE_PREFIX = re.compile(r"[+-]?0[xob]_*")
_FORBIDDEN = re.compile("[\u0000-\u0008\u000e-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_KEYWORDS: dict[str, Scalar] = {"#true": True, "#false": False, "#null": None}
_MAX_DIGITS = 100
"""More digits than any 64-bit integer needs, even in binary."""


class Token(NamedTuple):
    """`start` and `end` are indexes into the text; `value` is a value's scalar; `reason` says why a token is bad."""

    kind: Kind
    start: int
    end: int
    value: Scalar = None
    reason: str = ""


class LexicalError(Exception):
    """A token that cannot be meant. Never leaves this room: it becomes a token of kind `bad`."""


def tokens_of(text: str) -> tuple[list[Token], list[Token]]:
    """Every token that a parser looks at, the end included; and the comments that never close, as bad tokens."""
    tokens: list[Token] = []
    unclosed: list[Token] = []
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None  # the last alternative takes any character
        kind = found.lastgroup
        at = found.end()
        if kind in {"space", "comment"}:
            continue
        if kind == "block":
            end = _block_end(text, at)
            if end is None:
                unclosed.append(
                    Token("bad", found.start(), len(text), None, "this comment never ends: close it with */")
                )
            at = len(text) if end is None else end
        else:
            token = _raw_string(text, found) if kind == "raw" else _token(text, found)
            tokens.append(token)
            at = token.end
    tokens.append(Token("end", len(text), len(text)))
    return tokens, unclosed


def _block_end(text: str, at: int) -> int | None:
    depth = 1
    while edge := _BLOCK_EDGE.search(text, at):
        at = edge.end()
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return at
    return None


def _token(text: str, found: re.Match[str]) -> Token:
    kind, start, end = found.lastgroup, found.start(), found.end()
    match kind:
        case "newline" | "name" | "open" | "close" | "semicolon" | "equals" | "slashdash" | "annotation":
            return Token(kind, start, end)
        case "multiline":
            close = text.find('"""', end)
            end = len(text) if close < 0 else close + 3
            return Token("bad", start, end, None, 'strings of several lines are written raw: #"""…"""#')
        case "unclosed":
            return Token("bad", start, end, None, 'this string has no closing " on its line')
        case "other":
            return Token("bad", start, end, None, f"unexpected character {found.group()!r}")
    read = {"string": _string, "number": _number, "keyword": _keyword}[str(kind)]
    try:
        return Token("value", start, end, read(found.group()))
    except LexicalError as error:
        return Token("bad", start, end, None, str(error))


def _raw_string(text: str, found: re.Match[str]) -> Token:
    start = found.start()
    hashes = found.group().rstrip('"')
    quotes = len(found.group()) - len(hashes)
    if not quotes:
        return Token("bad", start, found.end(), None, "a # begins a raw string, #true, #false or #null")
    quote = '"' if quotes < 3 else '"""'
    at = start + len(hashes) + len(quote)
    limit = len(text)
    if quote == '"' and (line := _LINE_END.search(text, at)):
        limit = line.start()
    close = text.find(quote + hashes, at, limit)
    if close < 0:
        reason = f'close it with {quote}{hashes}, on its line unless it begins with #"""'
        return Token("bad", start, limit, None, f"this raw string never ends: {reason}")
    end = close + len(quote) + len(hashes)
    content = text[at:close]
    if _FORBIDDEN.search(content):
        return Token("bad", start, end, None, _forbidden(content))
    if quote == '"""':
        if not content.startswith(("\n", "\r")):
            return Token("bad", start, end, None, 'a raw string of several lines begins on the line after #"""')
        # Not dedented: what is written is what a program gets, but for the newlines next to the quotes.
        content = content.replace("\r\n", "\n").removeprefix("\n").removeprefix("\r").removesuffix("\n")
    return Token("value", start, end, content)


def _string(written: str) -> str:
    content = written[1:-1]
    if _FORBIDDEN.search(content):
        raise LexicalError(_forbidden(content))
    return _ESCAPE.sub(_unescaped, content) if "\\" in content else content


def _unescaped(found: re.Match[str]) -> str:
    name = found.group(1)
    if name.startswith("u{"):
        code = int(name[2:-1], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise LexicalError(f"\\{name} is no Unicode scalar value")
        return chr(code)
    if name not in _ESCAPED:
        raise LexicalError(f'unknown escape \\{name}: write \\\\ for a backslash, or a raw string #"…"#')
    return _ESCAPED[name]


def _forbidden(content: str) -> str:
    found = _FORBIDDEN.search(content)
    assert found is not None
    return f"U+{ord(found.group()):04X} may not stand in a string: write it as \\u{{{ord(found.group()):x}}}"


def _number(written: str) -> int | float:
    whole = _INTEGER.fullmatch(written)
    if whole is None:
        if _BASE_PREFIX.fullmatch(written):
            raise LexicalError(f"{written} needs a digit after its base")
        if _FLOAT.fullmatch(written) is None:
            raise LexicalError(f"{_shortened(written)} is no number")
        number = float(written.replace("_", ""))
        if not math.isfinite(number):
            raise LexicalError(f"{_shortened(written)} is too large for a 64-bit float")
        return number
    digits = next(group for group in whole.groups()[1:] if group is not None).replace("_", "").lstrip("0") or "0"
    base = {2: 16, 3: 8, 4: 2, 5: 10}[whole.lastindex or 5]
    integer = int(whole.group(1) + digits, base) if len(digits) <= _MAX_DIGITS else 2**64
    if not -(2**63) <= integer < 2**63:
        raise LexicalError(f"{_shortened(written)} does not fit into 64 bits")
    return integer


def _keyword(written: str) -> Scalar:
    if written not in _KEYWORDS:
        raise LexicalError(f"{_shortened(written)} is not known: there are #true, #false and #null")
    return _KEYWORDS[written]


def _shortened(written: str) -> str:
    return written if len(written) <= 40 else f"{written[:37]}…"
