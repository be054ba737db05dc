"""Where the two hashes of a script meet: the TypeScript that the ledger pinned, the JavaScript that pages run."""

from collections.abc import Sequence
from dataclasses import dataclass

from comity.contract.capture import PageScript
from comity.contract.compiler import CompileAnswer
from comity.contract.scripts import Compiled, CompiledScript, PinnedScript, sha256_of


@dataclass(frozen=True, slots=True)
class RunnableScripts:
    """What every capture of the level carries, in the order pinned, and what the ledger is told about it."""

    preload: tuple[PageScript, ...]
    behaviors: tuple[PageScript, ...]
    compiled: Compiled


def join(pinned: Sequence[PinnedScript], answer: CompileAnswer) -> RunnableScripts:
    """Check that the compiler answered for exactly these scripts, and split them by phase.

    Raises ValueError where a script is missing, out of order, of another version, phase or options, or where a hash
    does not belong to its JavaScript: a page must never run what nobody pinned.
    """
    if len(answer.scripts) != len(pinned):
        raise ValueError(f"the compiler answered with {len(answer.scripts)} scripts for {len(pinned)}")
    for asked, given in zip(pinned, answer.scripts, strict=True):
        before, after = (
            (asked.id, asked.version, asked.phase, asked.options),
            (given.id, given.version, given.phase, given.options),
        )
        if before != after:
            raise ValueError(f"the compiler answered with {given.id} v{given.version} for {asked.id} v{asked.version}")
        if sha256_of(given.source) != given.sha256:
            raise ValueError(f"the compiler's sha256 of {given.id} is not that of its JavaScript")
    return RunnableScripts(
        preload=tuple(_page_script(one) for one in answer.scripts if one.phase == "preload"),
        behaviors=tuple(_page_script(one) for one in answer.scripts if one.phase == "behavior"),
        compiled=Compiled(
            typescript=answer.typescript,
            host_types=answer.host_types,
            scripts=[CompiledScript(id=one.id, version=one.version, sha256=one.sha256) for one in answer.scripts],
        ),
    )


def _page_script(script: PinnedScript) -> PageScript:
    return PageScript(id=script.id, source=script.source, sha256=script.sha256, options=script.options)
