"""What a script must not do to its own check.

Comments can switch the checker off (`@ts-nocheck`), draw in other declarations (`/// <reference …>`) or hide one line
(`@ts-ignore`). The first two are refused by their text. The third is allowed for types, but must not smuggle in what
the emitted JavaScript would then really do: an `import()`, a top-level `await`, an `enum`. And a file with an
`import` or `export` is not an error to the compiler at all: it silently becomes a module, shares nothing with the
others and comes out with an `export`.

So where the text gives reason to look, the program is checked once more as a *probe*: `@ts-ignore` made a plain
comment, and a type added at the end of every source that a probe file then asks for. From a classic script it is
global; from a module it cannot be seen. The compiler itself is the judge, not a pattern of ours.
"""

import re
from collections.abc import Sequence

from comity.contract.compiler import Diagnostic
from comity.tscompile.program import Source

NO_CHECK = "no-ts-nocheck"
NO_REFERENCE = "no-reference"
NO_MODULES = "no-modules"

_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_NO_CHECK = re.compile(r"//\s*@ts-nocheck", re.IGNORECASE)  # the compiler takes `@ts-nocheck_` for it too
_REFERENCE = re.compile(r"///\s*<\s*(?:reference|amd-[a-z]+)\b", re.IGNORECASE)
_REASON_TO_PROBE = re.compile(r"\b(?:import|export)\b|@ts-(?:ignore|expect-error)", re.IGNORECASE)
_SUPPRESSION = re.compile(r"@ts-(?=ignore|expect-error)", re.IGNORECASE)
_MODULE_SYNTAX = re.compile(r"^[ \t]*(import|export)\b|\b(import|export)\b", re.MULTILINE)

_NEVER_HIDDEN = frozenset(
    {
        "TS1294",  # not erasable: enum, namespace, parameter property, import =
        "TS1323", "TS1343", "TS1202", "TS1203",  # import(), import.meta, import =, export =
        "TS2306", "TS2307", "TS2792",  # import … from
        "TS1375", "TS1378", "TS1431", "TS1432",  # top-level await
        "TS2852", "TS2853", "TS2854",  # top-level await using
    }
)  # fmt: skip
_PROBE_ID = "module-probe"


def textual_findings(sources: Sequence[Source]) -> list[Diagnostic]:
    """Comments that would change what the check is about, wherever they stand."""
    found = []
    for source in sources:
        for match in _NO_CHECK.finditer(source.text):
            message = "`@ts-nocheck` is refused: every script is checked whole. Remove the comment."
            found.append(_at(source, match.start(), NO_CHECK, message))
        for match in _REFERENCE.finditer(source.text):
            message = (
                "A triple-slash reference is refused: a script sees ES2023, the DOM and `__bh`, and no other file."
            )
            found.append(_at(source, match.start(), NO_REFERENCE, message))
    return found


def needs_probe(sources: Sequence[Source]) -> bool:
    """Whether any text gives reason for the second look. Most scripts do not, and are checked once."""
    return any(_REASON_TO_PROBE.search(source.text) for source in sources)


def probe(sources: Sequence[Source], nonce: str) -> list[Source]:
    """The program of the second look. `nonce` (hex) keeps a script from declaring the probe's types itself.

    No offset before the end of a source moves, so places in its diagnostics are places in the original.
    """
    marked = [
        Source(source.id, f"{_SUPPRESSION.sub('@ts_', source.text)}\n;type {_mark(nonce, number)} = 1;\n")
        for number, source in enumerate(sources)
    ]
    asking = "\n".join(f"declare let __asked_{nonce}_{n}: {_mark(nonce, n)};" for n in range(len(sources)))
    return [*marked, Source(_probe_id(nonce), asking)]


def probe_findings(sources: Sequence[Source], diagnostics: Sequence[Diagnostic], nonce: str) -> list[Diagnostic]:
    """What the second look found, as findings in the original sources."""
    found = []
    for diagnostic in diagnostics:
        if diagnostic.file == f"{_probe_id(nonce)}.ts":
            if diagnostic.line is not None and diagnostic.code in ("TS2304", "TS2552"):
                found.append(_module_finding(sources[diagnostic.line - 1]))
        elif diagnostic.code in _NEVER_HIDDEN:
            found.append(diagnostic)
    return found


def _probe_id(nonce: str) -> str:
    return f"{_PROBE_ID}-{nonce}"


def _mark(nonce: str, number: int) -> str:
    return f"__script_{nonce}_{number}"


def _module_finding(source: Source) -> Diagnostic:
    matches = list(_MODULE_SYNTAX.finditer(source.text))
    at_line_start = [match.start(1) for match in matches if match[1]]
    elsewhere = [match.start(2) for match in matches if match[2]]
    offset = (at_line_start or elsewhere or [0])[0]
    message = (
        "An `import` or `export` makes this file a module. Scripts are classic scripts that share the page's global "
        "scope: remove it, and put what you need into the script itself."
    )
    return _at(source, offset, NO_MODULES, message)


def _at(source: Source, offset: int, code: str, message: str) -> Diagnostic:
    before = source.text[:offset]
    breaks = list(_LINE_BREAK.finditer(before))
    start = breaks[-1].end() if breaks else 0
    col = len(before[start:].encode("utf-16-le")) // 2 + 1
    return Diagnostic(file=source.file, line=len(breaks) + 1, col=col, code=code, message=message)
