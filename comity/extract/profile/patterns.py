"""Regular expressions that run in linear time everywhere: RE2's (https://github.com/google/re2/wiki/Syntax).

Flags are i, m and s. What RE2 would accept and the language does not (named groups, `\\C`) is refused here.
"""

from dataclasses import dataclass
from typing import Any

import re2

FLAGS = "ims"
MAX_PATTERN_CHARS = 4096


class PatternError(ValueError):
    """The pattern is not of the language's RE2 profile: E_REGEX_INVALID."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern over UTF-8 bytes, which cost a tenth of text, and the number of its groups."""

    compiled: Any
    groups: int


def compile_pattern(pattern: str, flags: str = "") -> Pattern:
    """Raises PatternError for a pattern or flags that the language does not have."""
    if set(flags) - set(FLAGS) or len(set(flags)) < len(flags):
        raise PatternError(f"flags {flags[:40]!r} must be some of i, m and s, each once")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise PatternError(f"a pattern may have {MAX_PATTERN_CHARS} characters, this one has {len(pattern)}")
    if _has_single_byte_escape(pattern):
        raise PatternError(f"the pattern {pattern[:200]!r} uses \\C, which matches half a character: use . instead")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile((f"(?{flags})" if flags else "").encode() + pattern.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise PatternError(f"the pattern {pattern[:200]!r} is not RE2: {reason}") from None
    except UnicodeEncodeError:
        raise PatternError("the pattern has half a surrogate pair, which is no text") from None
    if compiled.groupindex:
        raise PatternError(f"the pattern {pattern[:200]!r} names a group: write ( instead of (?P<name>")
    return Pattern(compiled, compiled.groups)


def _has_single_byte_escape(pattern: str) -> bool:
    at = 0
    while (at := pattern.find("\\", at)) >= 0:
        if pattern[at + 1 : at + 2] == "C":
            return True
        if pattern[at + 1 : at + 2] == "Q":
            end = pattern.find("\\E", at)
            if end < 0:
                return False
            at = end
        at += 2
    return False
