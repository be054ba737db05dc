"""Whether what a level ran is what its crawl pinned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from comity.contract.scripts import Compiled

Pinned = tuple[str, int]
"""Id and version of a script that the crawl pinned."""


@dataclass(frozen=True)
class CompiledVerdict:
    """`record`: write it on the crawl. `refuse`: the report itself is wrong. `conflict`: other code ran before."""

    kind: Literal["record", "same", "refuse", "conflict"]
    field: str = ""
    message: str = ""


def judge_compiled(pinned: Sequence[Pinned], recorded: Compiled | None, reported: Compiled) -> CompiledVerdict:
    """Each pinned script exactly once and nothing else; at later levels the hashes of the first."""
    seen: set[Pinned] = set()
    for place, script in enumerate(reported.scripts):
        identity = (script.id, script.version)
        field = f"compiled.scripts.{place}"
        if identity not in pinned:
            return CompiledVerdict(
                "refuse", field, f"{script.id} version {script.version} was never pinned on this crawl"
            )
        if identity in seen:
            return CompiledVerdict("refuse", field, f"{script.id} is reported twice")
        seen.add(identity)
    missing = [f"{ident} version {version}" for ident, version in pinned if (ident, version) not in seen]
    if missing:
        return CompiledVerdict("refuse", "compiled.scripts", f"pinned, but not reported: {', '.join(missing)}")
    if recorded is None:
        return CompiledVerdict("record")
    first = {script.id: script.sha256 for script in recorded.scripts}
    for script in reported.scripts:
        if first.get(script.id) != script.sha256:
            return CompiledVerdict(
                "conflict", "", f"{script.id} became other JavaScript at an earlier level of this crawl: "
                f"{first.get(script.id)} then, {script.sha256} now; use one compiler for one crawl"
            )  # fmt: skip
    return CompiledVerdict("same")
