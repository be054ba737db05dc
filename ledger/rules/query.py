"""What a search asks for. Nothing that is typed is a syntax error: there are words, and phrases in double quotes."""

import re
from dataclasses import dataclass

from ledger.rules.words import Run, is_unspaced, normalised, runs, terms

MAX_QUERY_CHARACTERS = 400
MAX_PHRASES = 32
_QUOTES = str.maketrans(dict.fromkeys("“”„«»「」『』", '"'))
_PART = re.compile(r'"([^"]*)"?|([^"\s]+)')


@dataclass(frozen=True)
class Phrase:
    """Terms that stand one behind the other. `open_end`: the last one is the beginning of a term."""

    terms: tuple[str, ...]
    open_end: bool = False


def parse(text: str) -> tuple[Phrase, ...]:
    """The phrases of a query; a page matches that has all of them. Empty where nothing is a word.

    What stands in quotes is one phrase, and so is anything without a space between: `don't`, `2030-01-31`.
    """
    found: dict[Phrase, None] = {}
    for part in _PART.finditer(_read(text)):
        phrase = _phrase(normalised(part[1] if part[1] is not None else part[2]))
        if phrase is not None:
            found[phrase] = None
    return tuple(found)[:MAX_PHRASES]


def has_open_quote(text: str) -> bool:
    """Whether the last phrase is not closed: it reaches to the end."""
    return _read(text).count('"') % 2 == 1


def _read(text: str) -> str:
    """What is read of a query, its quotes all of one kind."""
    return text.translate(_QUOTES)[:MAX_QUERY_CHARACTERS]


def _phrase(text: str) -> Phrase | None:
    """The terms as they stand in a page. The last character of a run is a term only where the run is known to end."""
    cut = list(runs(text))
    if not cut:
        return None
    found = [one.term for one in terms(text)]
    last: Run = cut[-1]
    if not last.unspaced:
        return Phrase(tuple(found)) if found else None
    if last.end - last.start > 1:
        return Phrase(tuple(found[:-1]))
    return Phrase(tuple(found), open_end=is_unspaced(text[last.start]))
