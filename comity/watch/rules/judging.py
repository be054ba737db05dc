"""Has a page changed? Two texts of it, its settings and what is known of its volatile lines in, a verdict out."""

import hashlib
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from comity.contract.watch_found import MAX_DIFF_LINE_CHARACTERS, MAX_DIFF_LINES, Diff, DiffHunk
from comity.watch.rules import imported
from comity.watch.rules.clock import differ_by_clock, lines_without_clock
from comity.watch.rules.diff import Block, blocks, unordered_blocks
from comity.watch.rules.settings import ContentSettings, ignoring
from comity.watch.rules.volatile import EDGE, Differing, Volatile, learnt_at_once, learnt_from_visit, shape_of

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_CUT = " …"
MAX_BLOCKS = 2_000
"""A page that changed at more places than this is another page: nothing is to be learnt from it."""
MAX_PAIRS = 200
"""In longer stretches nobody looks for counters."""


@dataclass(frozen=True, slots=True)
class Version:
    """A page's lines as they were fetched at a moment. `truncated`: the page went on."""

    lines: tuple[str, ...]
    at: datetime
    truncated: bool = False

    @classmethod
    def of_text(cls, text: str, at: datetime, *, kept_bytes: int) -> "Version":
        """What was kept of an earlier visit; cut, for all we know, where it is nearly as long as what is kept."""
        return cls(tuple(text.split("\n")) if text else (), at, len(text.encode()) > kept_bytes * 0.9)

    @property
    def text(self) -> str:
        """As it is kept."""
        return "\n".join(self.lines)

    @property
    def sha256(self) -> str:
        return sha256_of(self.text)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing that counts. `same`: not even what does not count."""

    volatile: Volatile
    same: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """Something to tell: `diff` has at least one line in it."""

    volatile: Volatile
    diff: Diff


def judge(
    before: Version, after: Version, settings: ContentSettings, volatile: Volatile, *, from_history: bool = True
) -> Unchanged | Changed:
    """Whether `after` is an update of `before`.

    `from_history`: whether a page's past may teach which of its lines are volatile. Where a site says itself when
    a page is not modified, its changes are meant.

    `volatile` of the verdict has learnt from this visit. A text whose basis is another than that of the settings is
    taken over untold: what was learnt is forgotten.
    """
    if volatile.basis == imported.BASIS:
        diff = imported.differing(before.text, after.lines)
        fresh = Volatile(basis=settings.basis)
        return Unchanged(fresh, same=False) if diff is None else Changed(fresh, diff)
    if volatile.basis != settings.basis:
        return Unchanged(Volatile(basis=settings.basis), same=before.lines == after.lines)
    if before.lines == after.lines:
        return Unchanged(learnt_from_visit(volatile, ()) if volatile.streaks else volatile, same=True)
    old, new = _compared(before, after, settings, volatile)
    found = _differences(old, new, settings)
    if len(found) > MAX_BLOCKS:
        return Changed(volatile, _diff_of(found, old, new))
    learnt = learnt_from_visit(volatile, [_differing(block, old, new) for block in found]) if from_history else volatile
    counting = [block for block in found if not _is_learnt(block, old, new, learnt)]
    if not counting:
        return Unchanged(learnt, same=False)
    return Changed(learnt, _diff_of(counting, old, new))


def learn(first: Version, second: Version, settings: ContentSettings, known: Volatile | None = None) -> Volatile:
    """What two fetches moments apart say about a page's volatile lines, added to what is known.

    Lines that count first, for they are no neighbours by which a place could be found again.
    """
    if known is None or known.basis != settings.basis:
        known = Volatile(basis=settings.basis)
    for digits_alone in (True, False):
        old, new = _compared(first, second, settings, known)
        seen = [_differing(block, old, new) for block in _differences(old, new, settings)]
        known = learnt_at_once(known, [block for block in seen if block.digits_alone is digits_alone])
    return known


def hidden_lines(version: Version, volatile: Volatile) -> list[str]:
    """The lines of a version that are not compared, as people are shown them."""
    kept = volatile.without_slots([pair for pair in enumerate(version.lines) if not volatile.hides(pair[1])])
    places = {place for place, _ in kept}
    return [line for place, line in enumerate(version.lines) if place not in places]


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Compared:
    """The lines of a version that are compared, each with its key and its place in the version."""

    def __init__(self, version: Version, settings: ContentSettings, volatile: Volatile) -> None:
        self.at = version.at
        self.truncated = version.truncated
        ignored = ignoring(settings.ignore) if settings.ignore else None
        kept = [
            (place, line)
            for place, line in enumerate(version.lines)
            if not volatile.hides(line) and not (ignored is not None and ignored(line))
        ]
        kept = volatile.without_slots(kept)
        self.places = [place for place, _ in kept]
        self.lines = [line for _, line in kept]
        self.keys = self.lines

    def give_keys(self, common: Set[str], settings: ContentSettings) -> None:
        """Lines are compared by their keys; those that both versions have, by what they say: a date that stood there
        on its day and stands there still is the same line."""
        own = [at for at, line in enumerate(self.lines) if line not in common]
        keys = lines_without_clock([self.lines[at] for at in own], self.at)
        self.keys = list(self.lines)
        for at, key in zip(own, keys, strict=True):
            self.keys[at] = key
        if not settings.digits_count:
            self.keys = [_DIGITS.sub("0", key) for key in self.keys]

    def line_at(self, index: int) -> str:
        return self.lines[index] if 0 <= index < len(self.lines) else EDGE

    def place(self, index: int) -> int:
        """Of a line in the whole version; behind the last one, the next free one."""
        return self.places[index] if index < len(self.places) else (self.places[-1] + 1 if self.places else 0)


def _compared(
    before: Version, after: Version, settings: ContentSettings, volatile: Volatile
) -> tuple[_Compared, _Compared]:
    old, new = _Compared(before, settings, volatile), _Compared(after, settings, volatile)
    common = frozenset(old.lines) & frozenset(new.lines)
    old.give_keys(common, settings)
    new.give_keys(common, settings)
    return old, new


def _differences(old: _Compared, new: _Compared, settings: ContentSettings) -> list[Block]:
    if not settings.order_counts:
        found = unordered_blocks(old.keys, new.keys)
        lines_gone = [block for block in found if block.before_to > block.before_from]
        lines_new = [block for block in found if block.after_to > block.after_from]
        if old.truncated or new.truncated:
            lines_gone, lines_new = _without_pushed_out(lines_gone, lines_new, old, new)
        return lines_gone + lines_new
    found = [part for block in blocks(old.keys, new.keys) for part in _parts(block, old, new)]
    if found and _is_the_cut(found[-1], old, new):
        found.pop()
    return found


def _parts(block: Block, old: _Compared, new: _Compared) -> list[Block]:
    """A block of as many lines as before, with pairs that differ by digits alone on their own, for they may be counters
    beside something else; and without pairs that differ by their time of day alone."""
    size = block.before_to - block.before_from
    if size != block.after_to - block.after_from or size > MAX_PAIRS:
        return [block]
    parts: list[Block] = []
    run_from: int | None = None
    for at in range(size + 1):
        one, other = block.before_from + at, block.after_from + at
        paired = at < size and shape_of(old.lines[one]) == shape_of(new.lines[other])
        if (paired or at == size) and run_from is not None:
            parts.append(Block(block.before_from + run_from, one, block.after_from + run_from, other))
            run_from = None
        if paired and not differ_by_clock(old.keys[one], new.keys[other], old.at, new.at):
            parts.append(Block(one, one + 1, other, other + 1))
        elif not paired and run_from is None:
            run_from = at
    return parts


def _is_the_cut(block: Block, old: _Compared, new: _Compared) -> bool:
    """Lines that only crossed the end of what is kept, because something above them grew or shrank."""
    pushed_out = new.truncated and block.after_from == block.after_to == len(new.keys)
    came_in = old.truncated and block.before_from == block.before_to == len(old.keys)
    return pushed_out or came_in


def _without_pushed_out(
    gone: list[Block], added: list[Block], old: _Compared, new: _Compared
) -> tuple[list[Block], list[Block]]:
    """As `_is_the_cut`, where order does not count: the lines at the very end."""
    end = len(old.keys)
    while new.truncated and gone and gone[-1].before_to == end:
        gone, end = gone[:-1], end - 1
    end = len(new.keys)
    while old.truncated and added and added[-1].after_to == end:
        added, end = added[:-1], end - 1
    return gone, added


def _differing(block: Block, old: _Compared, new: _Compared) -> Differing:
    return Differing(
        before=tuple(old.lines[block.before_from : block.before_to]),
        after=tuple(new.lines[block.after_from : block.after_to]),
        preceding=new.line_at(block.after_from - 1),
        following=new.line_at(block.after_to),
    )


def _is_learnt(block: Block, old: _Compared, new: _Compared, learnt: Volatile) -> bool:
    """Whether this very visit showed that its lines are volatile."""
    seen = _differing(block, old, new)
    return all(learnt.hides(line) for line in (*seen.before, *seen.after))


def _diff_of(found: Sequence[Block], old: _Compared, new: _Compared) -> Diff:
    left = MAX_DIFF_LINES
    hunks: list[DiffHunk] = []
    cut = False
    for block in found:
        removed = [_shown(line) for line in old.lines[block.before_from : block.before_to][:left]]
        left -= len(removed)
        added = [_shown(line) for line in new.lines[block.after_from : block.after_to][:left]]
        left -= len(added)
        size = block.before_to - block.before_from + block.after_to - block.after_from
        cut = cut or len(removed) + len(added) < size or any(line.endswith(_CUT) for line in (*removed, *added))
        if removed or added:
            hunks.append(
                DiffHunk(
                    before_line=old.place(block.before_from) + 1,
                    after_line=new.place(block.after_from) + 1,
                    removed=removed,
                    added=added,
                )
            )
    return Diff(
        hunks=hunks,
        removed_lines=sum(block.before_to - block.before_from for block in found),
        added_lines=sum(block.after_to - block.after_from for block in found),
        truncated=cut,
    )


def _shown(line: str) -> str:
    return line if len(line) <= MAX_DIFF_LINE_CHARACTERS else line[: MAX_DIFF_LINE_CHARACTERS - len(_CUT)] + _CUT
