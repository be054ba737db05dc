"""What all formats say of a page, and what was wrong with a file."""

from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_URL_CHARACTERS = 8_192
MAX_PROBLEMS = 1_000


@dataclass(frozen=True, slots=True)
class FilePage:
    """A page of a file. `lists` are names; `line` is where it stood, from 1, or 0 where nobody knows."""

    url: str
    title: str = ""
    lists: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something that cannot be watched. `line` 0: the whole file."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class PagesRead:
    """The readable pages in order, one for each address; `problems` are the first thousand, `left_out` counts all.

    `broken`: the file ended before its time or could not be read on; `pages` are those before that place.
    """

    pages: tuple[FilePage, ...]
    problems: tuple[FileProblem, ...] = ()
    left_out: int = 0
    broken: bool = False


class Reading:
    """Collects pages: the same address twice is one page in the lists of both."""

    def __init__(self) -> None:
        self._pages: dict[str, FilePage] = {}
        self._problems: list[FileProblem] = []
        self._left_out = 0
        self._broken = False

    def add(self, page: FilePage) -> None:
        reason = why_not_watched(page.url)
        if reason is not None:
            self.problem(page.line, reason)
            return
        known = self._pages.get(page.url)
        if known is not None:
            page = FilePage(
                known.url,
                known.title or page.title,
                tuple(dict.fromkeys((*known.lists, *page.lists))),
                tuple(dict.fromkeys((*known.labels, *page.labels))),
                known.line,
            )
        self._pages[page.url] = page

    def problem(self, line: int, reason: str) -> None:
        self._left_out += 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(FileProblem(line, reason))

    def broken(self, line: int, reason: str) -> None:
        self._broken = True
        self.problem(line, reason)

    def done(self) -> PagesRead:
        return PagesRead(tuple(self._pages.values()), tuple(self._problems), self._left_out, self._broken)


def why_not_watched(url: str) -> str | None:
    """Why no page of that address can be watched, in words that name it; None where it looks like one."""
    shown = repr(url[:100])
    if len(url) > MAX_URL_CHARACTERS:
        return f"{shown}… is longer than {MAX_URL_CHARACTERS} characters"
    if any(character.isspace() or ord(character) < 0x20 or ord(character) == 0x7F for character in url):
        return f"{shown} has a space or a control character in it"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"{shown} is not an address: {error}"
    if parts.scheme.lower() not in ("http", "https") or not host:
        return f"{shown} is not an http(s) address"
    if parts.username is not None or parts.password is not None:
        return f"{host}: an address with a user name or password in it is not kept; leave them out"
    return None
