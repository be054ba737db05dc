"""Replacing what a regular expression finds in a page's text."""

import time
from collections.abc import Callable
from typing import Any

from comity.extract.profile.patterns import Pattern
from comity.extract.run.failures import transform_error

MAX_REPLACE_S = 10.0
_LOOK_EVERY = 32


def parse_replacement(replacement: str) -> list[bytes | int]:
    """`$0` to `$99` as group numbers, `$$` as a dollar; any other dollar is one."""
    parts: list[bytes | int] = []
    literal, at = "", 0
    while at < len(replacement):
        following = replacement[at + 1 : at + 3]
        if replacement[at] == "$" and following[:1] == "$":
            literal, at = literal + "$", at + 2
        elif replacement[at] == "$" and following[:1].isascii() and following[:1].isdigit():
            digits = following if following.isascii() and following.isdigit() else following[0]
            parts += [literal.encode(), int(digits)]
            literal, at = "", at + 1 + len(digits)
        else:
            literal, at = literal + replacement[at], at + 1
    return [*parts, literal.encode()]


def replacer(pattern: Pattern, replacement: str, count: int | None) -> Callable[[str], str]:
    """A function that replaces the first `count` matches, or all of them, from left to right.

    An empty match right behind another match does not count. Each single search is linear; a page on which many of
    them run to its end is given up after `MAX_REPLACE_S`.
    """
    parts = [one for one in parse_replacement(replacement) if isinstance(one, int) or one]
    search, groups = pattern.compiled.search, pattern.groups

    def written(found: Any) -> bytes:
        return b"".join(
            one if isinstance(one, bytes) else (found.group(one) or b"") if one <= groups else b"" for one in parts
        )

    def replace(text: str) -> str:
        data = text.encode()
        pieces: list[bytes] = []
        at = copied = matches = 0
        last_end = -1
        give_up_at = time.monotonic() + MAX_REPLACE_S
        while at <= len(data) and (count is None or matches < count):
            found = search(data, at)
            if found is None:
                break
            start, end = found.span()
            if start == end:
                at = _next_character(data, end)
                if start == last_end or _is_inside_character(data, start):
                    continue
            else:
                at = end
            pieces += [data[copied:start], written(found)]
            copied = last_end = end
            matches += 1
            if matches % _LOOK_EVERY == 0 and time.monotonic() > give_up_at:
                raise transform_error(f"replacing took more than {MAX_REPLACE_S:g} s on this text; narrow the pattern")
        return b"".join([*pieces, data[copied:]]).decode()

    return replace


def _is_inside_character(data: bytes, at: int) -> bool:
    return at < len(data) and data[at] & 0xC0 == 0x80


def _next_character(data: bytes, at: int) -> int:
    at += 1
    while _is_inside_character(data, at):
        at += 1
    return at
