"""Lines that never mean an update: counters, clocks, advertisements. Learnt per page, for masking them everywhere would
hide prices.

What two fetches moments apart disagree about is volatile: where only digits differ, lines of that shape; else the place
between its two neighbours, and the very lines. From history: a shape whose digits changed at each of the last visits,
and lines that keep coming back. All of it is kept as a few hundred short strings.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from comity.contract.watch import MAX_VOLATILE_LINES

EVERY_VISIT = 4
"""Digits that changed at so many visits in a row are a counter's."""
COMES_BACK = 2
"""A line that went so often, and is here again, rotates."""
MAX_SLOT_LINES = 20
"""A longer stretch than this is no advertisement."""
_EACH_AT_MOST = MAX_VOLATILE_LINES // 5
_DIGITS = re.compile(r"\d+(?:[.,:/ ’'\-]\d+)*")
_HALF = 8
"""Characters of a digest that name a neighbour."""
_EDGE = "-" * _HALF
EDGE = ""
"""The neighbour of a first or last line."""


@dataclass(frozen=True, slots=True)
class Volatile:
    """What is known about a page's volatile lines: digests, so that hostile lines stay small."""

    shapes: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()
    slots: Mapping[str, int] = field(default_factory=dict)
    """Digest of both neighbours: the most lines that were seen between them."""
    streaks: Mapping[str, int] = field(default_factory=dict)
    """Shapes whose digits changed: at how many visits in a row."""
    gone: Mapping[str, int] = field(default_factory=dict)
    """Lines that went: how often."""
    basis: str = ""
    """What text they were learnt of."""

    def hides(self, line: str) -> bool:
        """Whether the line is not compared at all."""
        return bool(self.shapes or self.lines) and (shape_of(line) in self.shapes or digest(line) in self.lines)

    def without_slots(self, lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """The lines (each with its place) without those between neighbours where things come and go.

        Neighbours that stand beside one another at several places of a page are no place, and hide nothing.
        """
        if not self.slots:
            return list(lines)
        halves = [_EDGE, *(_half(line) for _, line in lines), _EDGE]
        preceding = {name[:_HALF] for name in self.slots}
        inside: dict[str, list[tuple[int, int]]] = {}
        longest = max(self.slots.values())
        for at, half in enumerate(halves):
            if half in preceding:
                for size in range(min(longest, len(halves) - at - 2) + 1):
                    name = half + halves[at + size + 1]
                    if self.slots.get(name, -1) >= size:
                        inside.setdefault(name, []).append((at, at + size))
        hidden = {place for spans in inside.values() if len(spans) == 1 for place in range(*spans[0])}
        return [line for place, line in enumerate(lines) if place not in hidden]

    def as_lines(self) -> list[str]:
        """For the queue to keep."""
        return [
            *([f"basis {self.basis}"] if self.basis else []),
            *(f"shape {one}" for one in sorted(self.shapes)),
            *(f"line {one}" for one in sorted(self.lines)),
            *(f"slot {one} {most}" for one, most in self.slots.items()),
            *(f"streak {one} {count}" for one, count in self.streaks.items()),
            *(f"gone {one} {count}" for one, count in self.gone.items()),
        ]

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> "Volatile":
        """What `as_lines` wrote. Whatever cannot be understood is passed over."""
        sets: dict[str, set[str]] = {"shape": set(), "line": set()}
        maps: dict[str, dict[str, int]] = {"slot": {}, "streak": {}, "gone": {}}
        basis = ""
        for line in lines:
            kind, _, rest = line.partition(" ")
            name, _, number = rest.partition(" ")
            if kind == "basis":
                basis = rest
            elif kind in sets:
                sets[kind].add(name)
            elif kind in maps and number.isascii() and number.isdigit():
                maps[kind][name] = int(number)
        return cls(frozenset(sets["shape"]), frozenset(sets["line"]), maps["slot"], maps["streak"], maps["gone"], basis)


@dataclass(frozen=True, slots=True)
class Differing:
    """A block that changed, with its neighbours among the lines that are compared."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    preceding: str
    following: str

    @property
    def digits_alone(self) -> bool:
        """Line by line the same but for digits."""
        return len(self.before) == len(self.after) and all(
            shape_of(one) == shape_of(other) for one, other in zip(self.before, self.after, strict=True)
        )


def learnt_at_once(known: Volatile, differing: Iterable[Differing]) -> Volatile:
    """From two fetches moments apart: whatever they disagree about."""
    shapes, lines, slots = set(known.shapes), set(known.lines), dict(known.slots)
    for block in differing:
        if block.digits_alone:
            shapes.update(shape_of(line) for line in block.before)
            continue
        most = max(len(block.before), len(block.after))
        if most <= MAX_SLOT_LINES:
            place = slot_of(block.preceding, block.following)
            slots[place] = max(slots.get(place, 0), most)
        lines.update(digest(line) for line in (*block.before, *block.after))
    return replace(known, shapes=_few(shapes), lines=_few(lines), slots=_few_of(slots))


def learnt_from_visit(known: Volatile, differing: Sequence[Differing]) -> Volatile:
    """From what changed between this visit and the one before; nothing, where the page was the same."""
    changed = {shape_of(line) for block in differing if block.digits_alone for line in block.before}
    streaks = {shape: known.streaks.get(shape, 0) + 1 for shape in changed}
    shapes = known.shapes | {shape for shape, count in streaks.items() if count >= EVERY_VISIT}
    gone = dict(known.gone)
    lines = set(known.lines)
    for block in differing:
        if block.digits_alone:
            continue
        lines.update(one for line in block.after if gone.get(one := digest(line), 0) >= COMES_BACK)
        for line in block.before:
            one = digest(line)
            gone[one] = gone.pop(one, 0) + 1
    return replace(
        known,
        shapes=_few(shapes),
        lines=_few(lines),
        streaks=_few_of({shape: count for shape, count in streaks.items() if shape not in shapes}),
        gone=_few_of({one: count for one, count in gone.items() if one not in lines}),
    )


def shape_of(line: str) -> str:
    """Digest of the line with its numbers masked; of a line without numbers, no other line's."""
    return digest(_DIGITS.sub("0", line) if any(map(str.isdigit, line)) else f"\x02{line}")


def slot_of(preceding: str, following: str) -> str:
    """Name of a place: its neighbours, their numbers masked."""
    return (_half(preceding) if preceding else _EDGE) + (_half(following) if following else _EDGE)


def _half(line: str) -> str:
    return digest(_DIGITS.sub("0", line))[:_HALF]


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=9).digest()).decode()


def _few(of: Iterable[str]) -> frozenset[str]:
    return frozenset(sorted(of)[:_EACH_AT_MOST])


def _few_of(of: dict[str, int]) -> dict[str, int]:
    """The newest."""
    return dict(list(of.items())[-_EACH_AT_MOST:])
