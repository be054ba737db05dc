"""Reasons as people and the ledger read them: one line, the step in front, never over the ledger's limit."""

from collections.abc import Sequence

from comity.contract.compiler import Diagnostic
from comity.contract.ledger import MAX_REASON_CHARACTERS
from comity.contract.scripts import INLINE_PREFIX

SHOWN_DIAGNOSTICS = 5
MESSAGE_CHARACTERS = 250
"""Of each diagnostic: five, and the way out behind them, stay below the ledger's limit."""


def one_line(text: str, limit: int = MAX_REASON_CHARACTERS) -> str:
    """Line ends and runs of blanks become one blank; what is over the limit is cut, and says so."""
    line = " ".join(text.split()) or "no reason given"
    return line if len(line) <= limit else line[: limit - 1] + "…"


def step_reason(step: str, message: str) -> str:
    """`[step] message`, cut to what the ledger takes: a longer one is refused, and the crawl would stay running."""
    return one_line(f"[{step}] {message}")


def diagnostics_reason(diagnostics: Sequence[Diagnostic]) -> str:
    """`3 diagnostics: TS2339 autoscroll.ts(4,5): Property ...; ...`, the first five, and what leaves the script out."""
    count = len(diagnostics)
    shown = "; ".join(_diagnostic(one) for one in diagnostics[:SHOWN_DIAGNOSTICS])
    more = f"; and {count - SHOWN_DIAGNOSTICS} more" if count > SHOWN_DIAGNOSTICS else ""
    return f"{count} diagnostic{'' if count == 1 else 's'}: {shown}{more}{_way_out(diagnostics)}"


def _way_out(diagnostics: Sequence[Diagnostic]) -> str:
    """The command for the first script of the catalogue that is named; a crawl's own is mended where it was written."""
    named = (one.file.removesuffix(".ts") for one in diagnostics if one.file)
    ident = next((name for name in named if not name.startswith(INLINE_PREFIX)), None)
    return f"; to leave {ident} out: comity scripts disable {ident}" if ident else ""


def _diagnostic(one: Diagnostic) -> str:
    place = f" {one.file}" if one.file else ""
    if one.file and one.line is not None:
        place += f"({one.line},{one.col or 1})"
    return f"{one.code}{place}: {one_line(one.message, MESSAGE_CHARACTERS)}"
