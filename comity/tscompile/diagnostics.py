"""What the native compiler prints, as values.

Plain output (`--pretty false`) is one line per finding, `file(line,col): error TS1234: message`, where the longer
explanations go on in indented lines. Lines and columns count from 1, columns in UTF-16 code units, as editors do.
"""

import re
from collections.abc import Iterable

from comity.contract.compiler import Diagnostic

_FINDING = re.compile(r"^(?:(?P<file>[^\n]*?)\((?P<line>\d+),(?P<col>\d+)\): )?error (?P<code>TS\d+): (?P<message>.*)$")

MAX_MESSAGE_CHARACTERS = 4_000
"""A type that is spelt out can fill megabytes; nobody reads past this."""

_CLASSIC = "Scripts are classic scripts that share the page's global scope"
_HINTS = {
    "no-modules": ("TS2306", "TS2307", "TS2792", "TS1323", "TS1343", "TS1202", "TS1203", "TS2591"),
    "no-await": ("TS1375", "TS1378", "TS1431", "TS1432"),
}
_HINT_TEXTS = {
    "no-modules": f"{_CLASSIC}: no import, export or require; put what you need into the script itself.",
    "no-await": f"{_CLASSIC}: wrap the code in `(async () => {{ … }})()`.",
}
_HINT_OF = {code: _HINT_TEXTS[name] for name, codes in _HINTS.items() for code in codes}


def parse(output: str) -> list[Diagnostic]:
    """The findings in `output`, in the order printed; of a path only its last part."""
    found: list[Diagnostic] = []
    for line in output.split("\n"):
        match = _FINDING.match(line)
        if match is not None:
            found.append(_finding(match))
        elif found and line.startswith(" "):
            longer = f"{found[-1].message}\n{line.rstrip()}"
            found[-1] = found[-1].model_copy(update={"message": longer[:MAX_MESSAGE_CHARACTERS]})
    return found


def _finding(match: re.Match[str]) -> Diagnostic:
    file, line, col = match["file"], match["line"], match["col"]
    return Diagnostic(
        file=re.split(r"[/\\]", file)[-1] if file is not None else None,
        line=int(line) if line is not None else None,
        col=int(col) if col is not None else None,
        code=match["code"],
        message=match["message"][:MAX_MESSAGE_CHARACTERS],
    )


def explained(diagnostic: Diagnostic) -> Diagnostic:
    """The same finding with the next step added where the compiler's own (`make it a module`) misleads here."""
    hint = _HINT_OF.get(diagnostic.code)
    if hint is None:
        return diagnostic
    return diagnostic.model_copy(update={"message": f"{diagnostic.message} {hint}"})


def in_order(diagnostics: Iterable[Diagnostic], files: list[str]) -> list[Diagnostic]:
    """Each finding once: by script in the caller's order, then by place and code; what belongs to no script is last."""
    rank = {file: number for number, file in enumerate(files)}

    def key(diagnostic: Diagnostic) -> tuple[int, str, int, int, str, str]:
        file = diagnostic.file or ""
        place = rank.get(file, len(files))
        return place, file, diagnostic.line or 0, diagnostic.col or 0, diagnostic.code, diagnostic.message

    distinct = {key(diagnostic): diagnostic for diagnostic in diagnostics}
    return [distinct[each] for each in sorted(distinct)]
