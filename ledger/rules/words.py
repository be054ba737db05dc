"""How search cuts text into terms: one rule for what is indexed and what is asked, on every database.

Text is normalised (Unicode NFKC) and case-folded; words are runs of letters, marks and digits (Unicode categories L, M,
N). Scripts that are written without spaces between words are cut into overlapping pairs of characters, and the last
character of a run is a term of its own, so that a single character is found as the beginning of a term.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TERM_CHARACTERS = 64
"""A longer run is data, not a word; it is cut on both sides of the search alike."""

UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # iteration and closing marks, zero
    (0x3021, 0x302F),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x318F),  # Hiragana, Katakana, Bopomofo, Hangul compatibility Jamo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class Run:
    """A run of word characters, `text[start:end]`. `unspaced`: cut into pairs."""

    start: int
    end: int
    unspaced: bool


@dataclass(frozen=True)
class Term:
    """A term, and what of the text it came from."""

    term: str
    start: int
    end: int


def normalised(text: str) -> str:
    """The text as runs are counted in: NFKC, white space as single spaces, no control characters."""
    kept = (character if not _is_control(character) else " " for character in unicodedata.normalize("NFKC", text))
    return " ".join("".join(kept).split())


def terms(text: str) -> Iterator[Term]:
    """The terms of a normalised text, in order."""
    for run in runs(text):
        if run.unspaced:
            yield from _pairs(text, run)
        else:
            word = _folded(text[run.start : run.end])
            if word:
                yield Term(word, run.start, run.end)


def runs(text: str) -> Iterator[Run]:
    """The runs of word characters of a normalised text. A mark belongs to what stands before it."""
    start, unspaced = -1, False
    for place, character in enumerate(text):
        category = unicodedata.category(character)[0]
        if category not in "LMN":
            if start >= 0:
                yield Run(start, place, unspaced)
            start = -1
            continue
        here = is_unspaced(character) if category != "M" or start < 0 else unspaced
        if start >= 0 and here != unspaced:
            yield Run(start, place, unspaced)
            start = -1
        if start < 0:
            start, unspaced = place, here
    if start >= 0:
        yield Run(start, len(text), unspaced)


def is_unspaced(character: str) -> bool:
    """Whether the character's script has no spaces between words."""
    point = ord(character)
    return point >= 0x0E00 and any(first <= point <= last for first, last in UNSPACED)


def _pairs(text: str, run: Run) -> Iterator[Term]:
    for place in range(run.start, run.end):
        end = min(place + 2, run.end)
        term = _folded(text[place:end])
        if term:
            yield Term(term, place, end)


def _folded(word: str) -> str:
    """Case-folded as Unicode says (default caseless matching), word characters alone, cut."""
    folded = unicodedata.normalize("NFKC", word.casefold())
    kept = "".join(character for character in folded if unicodedata.category(character)[0] in "LMN")
    return kept[:MAX_TERM_CHARACTERS]


def _is_control(character: str) -> bool:
    """Control characters, halves of surrogate pairs, and those that turn the direction of what follows."""
    return (
        unicodedata.category(character) in ("Cc", "Cs")
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
