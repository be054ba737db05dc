"""The built-in transforms from text to text, to a list of texts and back.

A factory takes a call's arguments, already complete and checked, and gives the function that is called for each value.
Indexes count code points. White space is Unicode's White_Space property, which is less than `str.strip` takes.
"""

from collections.abc import Callable
from typing import Any

from comity.extract.profile.patterns import compile_pattern
from comity.extract.run.failures import shown, transform_error
from comity.extract.run.patterns import replacer

Arguments = dict[str, Any]
Function = Callable[[Any], Any]
Factory = Callable[[Arguments], Function]

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_TO_SPACES = str.maketrans(dict.fromkeys(WHITE_SPACE, " "))
_NOT_WHITE_SPACE = "\x1c\x1d\x1e\x1f"
"""What `str.split` takes for white space and Unicode does not."""


def _trim(value: str) -> str:
    return value.strip(WHITE_SPACE)


def _normalize_whitespace(value: str) -> str:
    for character in _NOT_WHITE_SPACE:
        if character in value:
            return " ".join(one for one in value.translate(_TO_SPACES).split(" ") if one)
    return " ".join(value.split())


def _replace(arguments: Arguments) -> Function:
    old, new, count = arguments["old"], arguments["new"], arguments.get("count", -1)
    return lambda value: value.replace(old, new, count)


def _regex_replace(arguments: Arguments) -> Function:
    pattern = compile_pattern(arguments["pattern"], arguments.get("flags", ""))
    return replacer(pattern, arguments["replacement"], arguments.get("count"))


def _regex_capture(arguments: Arguments) -> Function:
    pattern = compile_pattern(arguments["pattern"], arguments.get("flags", ""))
    search, group = pattern.compiled.search, arguments.get("group", 0)
    if group > pattern.groups:
        return lambda _: None

    def capture(value: str) -> str | None:
        found = search(value.encode())
        if found is None or (captured := found.group(group)) is None:
            return None
        text: str = captured.decode()
        return text

    return capture


def _assert_matches(arguments: Arguments) -> Function:
    search = compile_pattern(arguments["pattern"], arguments.get("flags", "")).compiled.search
    pattern = arguments["pattern"]

    def check(value: str) -> str:
        if search(value.encode()) is None:
            raise transform_error(f"{shown(value)} does not match {pattern!r}")
        return value

    return check


def _substring(arguments: Arguments) -> Function:
    start, end = arguments["start"], arguments.get("end")
    return lambda value: value[start:end]


def _split(arguments: Arguments) -> Function:
    separator, limit = arguments["separator"], arguments.get("limit")
    if separator == "":
        return lambda value: list(value[:limit])
    if limit is None:
        return lambda value: value.split(separator)
    # `limit` parts are wanted and the rest is dropped: one split more than parts, so that the last part ends in time
    return lambda value: value.split(separator, limit)[:limit]


def _join(arguments: Arguments) -> Function:
    separator: str = arguments["separator"]
    return separator.join


def _prepend(arguments: Arguments) -> Function:
    prefix = arguments["value"]
    return lambda value: prefix + value


def _append(arguments: Arguments) -> Function:
    suffix = arguments["value"]
    return lambda value: value + suffix


def _empty_to_null(_: Arguments) -> Function:
    return lambda value: value or None


TEXT: dict[str, Factory] = {
    "trim": lambda _: _trim,
    "normalize-whitespace": lambda _: _normalize_whitespace,
    "lowercase": lambda _: str.lower,
    "uppercase": lambda _: str.upper,
    "replace": _replace,
    "regex-replace": _regex_replace,
    "regex-capture": _regex_capture,
    "assert-matches": _assert_matches,
    "substring": _substring,
    "split": _split,
    "join": _join,
    "prepend": _prepend,
    "append": _append,
    "empty-to-null": _empty_to_null,
}
