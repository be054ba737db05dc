"""Resolve which scripts a crawl runs, with their source, once and for all."""

import json
from collections.abc import Sequence
from typing import Any, cast

from comity.contract.ledger import ErrorField, InlineScript, ScriptChoice
from comity.contract.scripts import INLINE_PREFIX, Phase, PinnedScript, sha256_of
from ledger.errors import BadInput
from ledger.store.catalogue import SCRIPTS
from ledger.store.database import Tx
from ledger.store.models_catalogue import ScriptVersion

MAX_SCRIPTS_BYTES = 1024 * 1024
"""All sources and options of a crawl together, in UTF-8."""

Asked = Sequence[str | ScriptChoice | InlineScript]


def pin(tx: Tx, asked: Asked | None) -> list[PinnedScript]:
    """The scripts to run, in order. None asked: the newest version of every enabled id, in id order.

    Raises BadInput naming each script that is unknown, reserved or repeated, and a list that is too large.
    """
    if asked is None:
        newest = SCRIPTS.newest(tx, whole=True)
        pinned = [_pinned(version, None) for script, version in newest if script.enabled]
    else:
        pinned = _chosen(tx, asked)
    size_bytes = sum(_size_bytes(script) for script in pinned)
    if size_bytes > MAX_SCRIPTS_BYTES:
        raise BadInput.at("scripts", f"{size_bytes} bytes together; {MAX_SCRIPTS_BYTES} are allowed")
    return pinned


def _chosen(tx: Tx, asked: Asked) -> list[PinnedScript]:
    pinned: list[PinnedScript] = []
    problems: list[ErrorField] = []
    ids: set[str] = set()
    for place, choice in enumerate(asked):
        found = _inline(choice) if isinstance(choice, InlineScript) else _catalogued(tx, choice)
        if isinstance(found, str):
            problems.append(ErrorField(field=f"scripts.{place}", message=found))
        elif found.id in ids:
            problems.append(
                ErrorField(field=f"scripts.{place}", message=f"{found.id} is there already; each runs once")
            )
        else:
            ids.add(found.id)
            pinned.append(found)
    if problems:
        raise BadInput(problems)
    return pinned


def _inline(script: InlineScript) -> PinnedScript:
    return PinnedScript(
        id=INLINE_PREFIX + script.name,
        version=1,
        phase=script.phase,
        source=script.source,
        sha256=sha256_of(script.source),
        options=script.options,
    )


def _catalogued(tx: Tx, choice: str | ScriptChoice) -> PinnedScript | str:
    """The script, or what is wrong with the choice."""
    ident, number, options = (
        (choice, None, None) if isinstance(choice, str) else (choice.id, choice.version, choice.options)
    )
    if ident.startswith(INLINE_PREFIX):
        return f"ids that begin with {INLINE_PREFIX} are reserved for inline scripts; give name, phase and source"
    entry = SCRIPTS.entry(tx, ident)
    if entry is None or entry.removed:
        return f"no script {ident[:64]!r} in the catalogue; GET /api/scripts lists them"
    version = SCRIPTS.version(tx, ident, number or entry.newest_version)
    if version is None:
        return f"{ident} has no version {number}; the newest is {entry.newest_version}"
    return _pinned(version, options)


def _pinned(version: ScriptVersion, options: dict[str, Any] | None) -> PinnedScript:
    return PinnedScript(
        id=version.script_id,
        version=version.version,
        phase=cast(Phase, version.phase),
        source=version.source,
        sha256=version.sha256,
        options=version.options if options is None else options,
    )


def _size_bytes(script: PinnedScript) -> int:
    options = json.dumps(script.options, ensure_ascii=False) if script.options is not None else ""
    return len(script.source.encode("utf-8")) + len(options.encode("utf-8"))
