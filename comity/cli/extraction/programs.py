"""The program of a command: compiled, ready, or its mistakes drawn and nothing sent."""

from pathlib import Path

from comity.cli.console import progress_output
from comity.cli.errors import CliError
from comity.cli.extract_view import show_diagnostics
from comity.cli.reading import check_extractor
from comity.extract import Failure, Program, compile  # noqa: A004 - as in `re.compile`

MISTAKES = 1
"""Exit status of a program with mistakes."""


def ready_program(path: Path) -> Program | None:
    """The program; None where it has mistakes, which are drawn on standard error then.

    Raises BadInput for no such file, CliError for one that cannot be read or prepared.
    """
    check_extractor(path)
    compilation = compile(path)
    if compilation.failure is not None:
        raise CliError(compilation.failure)
    show_diagnostics(progress_output(), path, compilation)
    if compilation.program is None:
        return None
    prepared = Program.prepare(compilation.program)
    if isinstance(prepared, Failure):
        raise CliError(f"{path}: {prepared}")
    return prepared
