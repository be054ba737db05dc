"""A diff for people: as unified text, and as HTML with everything escaped."""

from html import escape

from comity.contract.watch_found import Diff, DiffHunk


def as_text(diff: Diff) -> str:
    """Unified, without context: `@@ -3,1 +3,2 @@`, then removed and added lines. Ends with a line end."""
    lines: list[str] = []
    for hunk in diff.hunks:
        lines.append(_place(hunk))
        lines += [f"-{line}" for line in hunk.removed]
        lines += [f"+{line}" for line in hunk.added]
    if diff.truncated:
        lines.append(_more(diff))
    return "".join(f"{line}\n" for line in lines)


def as_html(diff: Diff) -> str:
    """One `<div class="diff">`: a `<pre>` for each hunk, with `<del>` and `<ins>` lines. No script, no style."""
    parts = ['<div class="diff">']
    for hunk in diff.hunks:
        removed = "".join(f"<del>-{escape(line)}</del>\n" for line in hunk.removed)
        added = "".join(f"<ins>+{escape(line)}</ins>\n" for line in hunk.added)
        parts.append(f'<pre class="hunk" data-place="{_place(hunk)}">{removed}{added}</pre>')
    if diff.truncated:
        parts.append(f"<p>{escape(_more(diff))}</p>")
    return "".join([*parts, "</div>"])


def _place(hunk: DiffHunk) -> str:
    return f"@@ -{hunk.before_line},{len(hunk.removed)} +{hunk.after_line},{len(hunk.added)} @@"


def _more(diff: Diff) -> str:
    return f"… cut: {diff.removed_lines} lines removed and {diff.added_lines} added in all"
