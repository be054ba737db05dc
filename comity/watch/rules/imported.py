"""A page's first visit of ours, compared with what another system kept of it.

Its text was made by other rules than ours: lines break elsewhere, white space differs, and it may have been cut at any
length. Words are the same all the same, so words are compared; and where too few are, the two cannot be compared at
all, and ours is taken over untold.
"""

from collections.abc import Sequence

from comity.contract.watch_found import MAX_DIFF_LINE_CHARACTERS, MAX_DIFF_LINES, Diff, DiffHunk
from comity.watch.rules.diff import Block, blocks

BASIS = "imported"
"""What a page's volatile lines say that was moved in from elsewhere."""
COMPARABLE = 0.5
"""Of the shorter text's words, so many must be in the other too, in order."""
_CUT = " …"


def differing(before: str, after: Sequence[str]) -> Diff | None:
    """What changed between the other system's text and our lines; None where nothing did that can be told.

    Words of ours behind the end of theirs are no change: theirs was cut there, for all we know.
    """
    old, new = before.split(), [word for line in after for word in line.split()]
    found = [block for block in blocks(old, new) if not _is_their_cut(block, len(old))]
    gone = sum(block.before_to - block.before_from for block in found)
    if not found or (len(old) - gone) < COMPARABLE * min(len(old), len(new)):
        return None
    hunks = [
        DiffHunk(
            before_line=1,
            after_line=1,
            removed=_shown(old[block.before_from : block.before_to]),
            added=_shown(new[block.after_from : block.after_to]),
        )
        for block in found[: MAX_DIFF_LINES // 2]
    ]
    return Diff(
        hunks=hunks,
        removed_lines=sum(len(hunk.removed) for hunk in hunks),
        added_lines=sum(len(hunk.added) for hunk in hunks),
        truncated=len(found) > len(hunks) or any(line.endswith(_CUT) for hunk in hunks for line in hunk.added),
    )


def _is_their_cut(block: Block, words: int) -> bool:
    return block.before_from == block.before_to == words


def _shown(words: Sequence[str]) -> list[str]:
    text = " ".join(words)
    if not text:
        return []
    return [text if len(text) <= MAX_DIFF_LINE_CHARACTERS else text[: MAX_DIFF_LINE_CHARACTERS - len(_CUT)] + _CUT]
