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
from comity.contract.ledger import AddScript, ScriptDetail
from comity.contract.scripts import MAX_SCRIPTS, PinnedScript, sha256_of
from flows.rules.reasons import diagnostics_reason

if TYPE_CHECKING:
    from blocks.clients.compiler import CompilerClient
    from blocks.clients.ledger import LedgerClient

SHOWN = 20
"""Mistakes that are printed; the first ones cause most of those that follow."""


def check_scripts(files: Sequence[ScriptFile], compiler: "CompilerClient") -> bool:
    """Whether each was found to compile by itself; False where no compiler answers, which standard error says then.

    Mistakes are printed on standard error, `FILE:LINE:COLUMN: CODE message`. Raises BadInput naming the first file.
    """
    wrong: list[tuple[ScriptFile, list[Diagnostic]]] = []
    checked = True
    for file in files:
        try:
            compiler.compile(CompileRequest(scripts=[_pinned(file.script)]))
        except CompileRejected as refusal:
            wrong.append((file, refusal.failed.diagnostics))
        except ServiceError as error:
            print(f"not checked whether what is added compiles: {error}", file=sys.stderr)
            checked = False
            break
    lines = [line for file, found in wrong for line in _told(file, found)]
    if lines:
        for line in (*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else ())):
            print(line, file=sys.stderr, flush=True)
        count = f"{len(lines)} mistake{'s' if len(lines) > 1 else ''}"
        raise BadInput(f"{wrong[0][0].path}: does not compile ({count}); nothing was added")
    return checked


def warn_of_clash(ledger: "LedgerClient", compiler: "CompilerClient") -> None:
    """Says on standard error where the enabled scripts do not compile together: each may, and two declare one name.

    It is no refusal: a crawl may name one of them.
    """
    enabled = [ledger.script(one.id) for one in ledger.scripts().scripts if one.enabled][:MAX_SCRIPTS]
    try:
        compiler.compile(CompileRequest(scripts=[_pinned(one) for one in enabled]))
    except CompileRejected as refusal:
        print(
            "crawls that name no script will fail, for the enabled scripts do not compile together: "
            f"{diagnostics_reason(refusal.failed.diagnostics)}",
            file=sys.stderr,
        )
    except ServiceError as error:
        print(f"not checked whether the enabled scripts compile together: {error}", file=sys.stderr)


def _told(file: ScriptFile, found: Sequence[Diagnostic]) -> Iterator[str]:
    for one in found:
        place = f":{one.line}:{one.col or 1}" if one.file and one.line is not None else ""
        yield f"{file.path}{place}: {one.code} {' '.join(one.message.split())}"


def _pinned(script: AddScript | ScriptDetail) -> PinnedScript:
    return PinnedScript(
        id=script.id,
        version=1,
        phase=script.phase,
        source=script.source,
        sha256=sha256_of(script.source),
        options=script.options,
    )
