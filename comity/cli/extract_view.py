"""`comity extract check` and `ir`: what the compiler found, drawn on the source for people, as JSON for programs."""

import json
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from comity.cli.console import output, progress_output
from comity.cli.errors import CliError
from comity.cli.reading import check_extractor
from comity.extract import Compilation, Diagnostic, canonical_json, compile, plain  # noqa: A004 - as in `re.compile`

STYLES = {"error": "bold red", "warning": "yellow"}
SHOWN_DIAGNOSTICS = 20
"""Of a file that is no KDL there are hundreds, and none tells more than the first. JSON has all."""
SHOWN_BEFORE = 60
SHOWN_AFTER = 100
"""Columns of a source line that are shown around a mistake."""


def run_check(path: Path, *, as_json: bool) -> int:
    """The exit status: 0 for a right program, 1 for one with mistakes."""
    compilation = _compiled(path)
    if as_json:
        print(json.dumps(_facts(path, compilation), indent=2, ensure_ascii=False))
    else:
        show_diagnostics(output(), path, compilation)
        if compilation.program is not None:
            needs = ", ".join(compilation.program.capabilities)
            output().print(Text(f"{path}: right; it needs {needs}"), soft_wrap=True)
    return int(compilation.program is None)


def run_ir(path: Path, *, as_json: bool) -> int:
    """The exit status: 0 for a right program, whose IR is printed, 1 for one with mistakes."""
    compilation = _compiled(path)
    if compilation.program is not None:
        print(canonical_json(plain(compilation.program)))
    elif as_json:
        print(json.dumps(_facts(path, compilation), indent=2, ensure_ascii=False))
    if not as_json:
        show_diagnostics(progress_output(), path, compilation)
    return int(compilation.program is None)


def _compiled(path: Path) -> Compilation:
    check_extractor(path)
    compilation = compile(path)
    if compilation.failure is not None:
        raise CliError(compilation.failure)
    return compilation


def _facts(path: Path, compilation: Compilation) -> dict[str, Any]:
    return {
        "file": str(path),
        "ok": compilation.program is not None,
        "diagnostics": [plain(one) for one in compilation.diagnostics],
    }


def show_diagnostics(console: Console, path: Path, compilation: Compilation) -> None:
    """The first diagnostics, each on its source line, and how many mistakes there are."""
    lines: dict[str, list[str]] = {}
    for one in compilation.diagnostics[:SHOWN_DIAGNOSTICS]:
        file = one.span.file
        if file not in lines:
            lines[file] = _lines_of(path.parent / PurePosixPath(file))
        console.print(render_diagnostic(one, lines[file]), soft_wrap=True)
    more = len(compilation.diagnostics) - SHOWN_DIAGNOSTICS
    if more > 0:
        console.print(Text(f"and {more} more"))
    errors = sum(one.severity == "error" for one in compilation.diagnostics)
    if errors:
        console.print(Text(f"{path}: {errors} mistake{'s' if errors > 1 else ''}; nothing was sent"), soft_wrap=True)


def _lines_of(path: Path) -> list[str]:
    """Lines as the compiler counts them; none where the file is not text."""
    try:
        return path.read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except (OSError, UnicodeDecodeError):
        return []


def render_diagnostic(one: Diagnostic, lines: list[str]) -> RenderableType:
    """A diagnostic above its source line, the place marked below it."""
    start, end = one.span.start, one.span.end
    head = Text(f"{one.span.file}:{start.line}:{start.column}: ")
    head.append(f"{one.severity} {one.code}", STYLES[one.severity])
    head.append(f" {_printable(one.message)}" + (f" [{one.path}]" if one.path else ""))
    if start.line > len(lines):
        return head
    line = lines[start.line - 1]
    first = max(0, start.column - 1 - SHOWN_BEFORE)
    last = min(len(line), start.column - 1 + SHOWN_AFTER)
    until = min(end.column - 1 if end.line == start.line else len(line), last)
    before, marked = _printable(line[first : start.column - 1]), _printable(line[start.column - 1 : until])
    number = f"{start.line:>5} | "
    source = Text(number, "dim").append(before + marked + _printable(line[until:last]), "not dim")
    marks = " " * (len(number) - 2) + "| " + " " * cell_len(before) + "^" * max(1, cell_len(marked))
    return Group(head, source, Text(marks, STYLES[one.severity]))


def _printable(text: str) -> str:
    """One cell for a tab, and nothing that a terminal could take for an order."""
    return "".join(
        " " if letter == "\t" else "\ufffd" if unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"} else letter
        for letter in text
    )
