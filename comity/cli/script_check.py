"""Scripts are compiled before they go into the catalogue: by the running stack's compiler, which crawls ask too.

One that does not compile would fail every crawl that names no script.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from blocks.clients.errors import CompileRejected, ServiceError
from comity.cli.errors import BadInput
from comity.cli.script_files import ScriptFile
from comity.contract.compiler import CompileRequest, Diagnostic
from comity.contract.scripts import PinnedScript, sha256_of

if TYPE_CHECKING:
    from blocks.clients.compiler import CompilerClient

SHOWN = 20
"""Mistakes that are printed; the first ones cause most of those that follow."""


def check_scripts(files: Sequence[ScriptFile], compiler: "CompilerClient") -> None:
    """Each compiles by itself; where no compiler answers, standard error says that they were not checked.

    Mistakes are printed on standard error, `FILE:LINE:COLUMN: CODE message`. Raises BadInput naming the first file.
    """
    wrong: list[tuple[ScriptFile, list[Diagnostic]]] = []
    for file in files:
        try:
            compiler.compile(CompileRequest(scripts=[_pinned(file)]))
        except CompileRejected as refusal:
            wrong.append((file, refusal.failed.diagnostics))
        except ServiceError as error:
            print(f"not checked whether what is added compiles: {error}", file=sys.stderr)
            break
    lines = [line for file, found in wrong for line in _told(file, found)]
    if lines:
        for line in (*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else ())):
            print(line, file=sys.stderr, flush=True)
        count = f"{len(lines)} mistake{'s' if len(lines) > 1 else ''}"
        raise BadInput(f"{wrong[0][0].path}: does not compile ({count}); nothing was added")


def _told(file: ScriptFile, found: Sequence[Diagnostic]) -> Iterator[str]:
    for one in found:
        place = f":{one.line}:{one.col or 1}" if one.file and one.line is not None else ""
        yield f"{file.path}{place}: {one.code} {' '.join(one.message.split())}"


def _pinned(file: ScriptFile) -> PinnedScript:
    script = file.script
    return PinnedScript(
        id=script.id,
        version=1,
        phase=script.phase,
        source=script.source,
        sha256=sha256_of(script.source),
        options=script.options,
    )
