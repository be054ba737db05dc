"""The piece of a page around what was searched for, as plain text with the hits marked."""

from collections.abc import Sequence

from ledger.rules.query import Phrase
from ledger.rules.words import Term, terms

OPEN, CLOSE = "\u00ab", "\u00bb"
BEFORE, AFTER = 60, 140
"""Characters of context: about two lines of a result."""


MARGIN = 80
"""Characters around what is shown that are looked at too, so that words at its edges are read whole."""
MAX_PLACES = 50
MAX_SCANNED = 20_000
"""Cutting a long text into terms takes half a second, and a list of results has many: so only places where a term can
stand are looked at, and of a text whose letters change their number when folded, the beginning."""


def snippet(text: str, phrases: Sequence[Phrase]) -> str:
    """Some of a normalised text, hits between « and ». The beginning of the text where nothing in it is a hit."""
    first = _first_hit(text, phrases)
    start, end = max(0, (first or 0) - BEFORE), min(len(text), (first or 0) + AFTER)
    hits = _hits_between(text, start - MARGIN, end + MARGIN, phrases) if first is not None else []
    start, end = _at_space(text, start, backwards=False), _at_space(text, end, backwards=True)
    shown, at = [], start
    for begin, stop in hits:
        if begin < at or stop > end:
            continue
        shown += [text[at:begin], OPEN, text[begin:stop], CLOSE]
        at = stop
    shown.append(text[at:end])
    return ("… " if start > 0 else "") + "".join(shown) + (" …" if end < len(text) else "")


def _first_hit(text: str, phrases: Sequence[Phrase]) -> int | None:
    folded = text.casefold()
    if len(folded) != len(text):
        hits = _hits_between(text, 0, MAX_SCANNED, phrases)
        return hits[0][0] if hits else None
    found = [place for phrase in phrases if (place := _first_of(text, folded, phrase)) is not None]
    return min(found, default=None)


def _first_of(text: str, folded: str, phrase: Phrase) -> int | None:
    place = folded.find(phrase.terms[0])
    for _ in range(MAX_PLACES):
        if place < 0:
            return None
        if any(begin == place for begin, _ in _hits_between(text, place - MARGIN, place + AFTER, (phrase,))):
            return place
        place = folded.find(phrase.terms[0], place + 1)
    return None


def _hits_between(text: str, start: int, end: int, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """The hits of a part of the text, by their places in the whole."""
    start = max(0, start)
    return [(begin + start, stop + start) for begin, stop in _hits(list(terms(text[start:end])), phrases)]


def _hits(found: Sequence[Term], phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Where the phrases stand, in order, those that touch each other as one."""
    by_term: dict[str, list[int]] = {}
    for place, term in enumerate(found):
        by_term.setdefault(term.term, []).append(place)
    places: list[tuple[int, int]] = []
    for phrase in phrases:
        length = len(phrase.terms)
        for place in _begins(phrase, by_term):
            here = found[place : place + length]
            if len(here) == length and _matches([term.term for term in here], phrase):
                end = here[-1].start + 1 if phrase.open_end else here[-1].end
                places.append((here[0].start, end))
    return _joined(sorted(places))


def _begins(phrase: Phrase, by_term: dict[str, list[int]]) -> list[int]:
    if len(phrase.terms) > 1 or not phrase.open_end:
        return by_term.get(phrase.terms[0], [])
    return [place for term, every in by_term.items() if term.startswith(phrase.terms[0]) for place in every]


def _matches(there: Sequence[str], phrase: Phrase) -> bool:
    *all_but, last = phrase.terms
    ends = there[-1].startswith(last) if phrase.open_end else there[-1] == last
    return list(there[:-1]) == all_but and ends


def _joined(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in places:
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _at_space(text: str, place: int, *, backwards: bool) -> int:
    """A cut between words where one is near, so that none is shown by half."""
    if place in (0, len(text)):
        return place
    near = text.rfind(" ", place - 20, place) if backwards else text.find(" ", place, place + 20)
    return near if near >= 0 and backwards else near + 1 if near >= 0 else place
