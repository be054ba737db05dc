"""Fields of pages that are there already, by a program as text: what travels between processes as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from comity.extract.ir.program import Extractor
from comity.extract.ir.reading import read_program
from comity.extract.run import Failure, Program, SnapshotOptions

MAX_ROWS = 10_000
MAX_TEXT_CHARS = 1_000_000
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class PageFields:
    """A program as its canonical JSON, so that it travels to the process that reads large pages.

    `wanted` are names of its output; none of them named: all of it.
    """

    program: str
    wanted: tuple[str, ...] = ()

    def fields(self, html: str, url: str) -> Mapping[str, Any]:
        """What the program makes of the page: all fields, or those wanted. Raises ValueError saying why not."""
        del url
        options = SnapshotOptions(timeout_s=TIMEOUT_S, max_rows=MAX_ROWS, max_text_chars=MAX_TEXT_CHARS)
        found = _prepared(self.program).extract_snapshot(html, options=options)
        if isinstance(found, Failure):
            raise ValueError(str(found))
        wrong = why_not_these_fields(tuple(found.value), self.wanted)
        if wrong is not None:
            raise ValueError(wrong[1])
        return {name: found.value[name] for name in self.wanted} if self.wanted else found.value


def field_names(program: str) -> tuple[str, ...]:
    """The names of what a program gives, in its order. Raises ValueError for what is no program any more."""
    return tuple(member.name for member in _read(program).output.members)


def why_not_these_fields(known: Sequence[str], wanted: Sequence[str]) -> tuple[int, str] | None:
    """The place of the first wanted field that is none of those known, and what to say of it."""
    for place, name in enumerate(wanted):
        if name not in known:
            return place, f"it has no field {name!r}; it has {', '.join(known) or 'none'}"
    return None


def _read(text: str) -> Extractor:
    read = read_program(text)
    if read.program is None:
        raise ValueError(f"the program is none: {'; '.join(read.faults)}")
    return read.program


@lru_cache(maxsize=256)
def _prepared(text: str) -> Program:
    ready = Program.prepare(_read(text))
    if isinstance(ready, Failure):
        raise ValueError(str(ready))
    return ready
