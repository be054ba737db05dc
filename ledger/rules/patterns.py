"""Include and exclude patterns of a crawl: RE2 (github.com/google/re2/wiki/Syntax), which no URL can make run away."""

from collections.abc import Sequence

import re2

MAX_PROGRAM_SIZE = 5000
"""Instructions of one pattern, repetitions written out. RE2 is linear in this too: `(.{900}x|...)` is not short."""


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # the caller is told, standard error is not
    return options


_OPTIONS = _options()


def compiled(pattern: str) -> "re2._Regexp":
    """The pattern, ready to search. Raises ValueError with RE2's own words."""
    try:
        ready = re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise ValueError(_words(error)) from None
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode") from None
    if ready.programsize > MAX_PROGRAM_SIZE:
        raise ValueError(f"is too large with its repetitions written out; {MAX_PROGRAM_SIZE} instructions are allowed")
    return ready


def _words(error: re2.error) -> str:
    words = error.args[0] if error.args else "is no pattern"
    return words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)


class LinkPatterns:
    """Which links the patterns let through. They are searched for anywhere in the URL; `^` and `$` anchor them.

    With include patterns a link must match one of them; one that matches an exclude pattern is never followed.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = [compiled(pattern) for pattern in include]
        self._exclude = [compiled(pattern) for pattern in exclude]

    def allow(self, url: str) -> bool:
        """True where the crawl may follow a link to the URL, as far as patterns go."""
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return False
        return not any(pattern.search(url) for pattern in self._exclude)
