"""Rows of the script catalogue: ids and their versions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import undefer

from ledger.store.database import Tx
from ledger.store.models import Script, ScriptVersion


def newest(tx: Tx, *, with_source: bool = False) -> Sequence[tuple[Script, ScriptVersion]]:
    """Every catalogue id with its newest version, in id order."""
    query = (
        select(Script, ScriptVersion)
        .join(ScriptVersion, (ScriptVersion.script_id == Script.id) & (ScriptVersion.version == Script.newest_version))
        .where(Script.removed.is_(False))
        .order_by(Script.id)
    )
    if with_source:
        query = query.options(undefer(ScriptVersion.source))
    return [(script, version) for script, version in tx.execute(query)]


def entry(tx: Tx, script_id: str) -> Script | None:
    """The id's row, removed or not."""
    return tx.get(Script, script_id)


def version(tx: Tx, script_id: str, number: int) -> ScriptVersion | None:
    """One version with its source, or None."""
    query = select(ScriptVersion).where(ScriptVersion.script_id == script_id, ScriptVersion.version == number)
    return tx.scalars(query.options(undefer(ScriptVersion.source))).one_or_none()


def versions(tx: Tx, script_id: str) -> Sequence[ScriptVersion]:
    """Every version of an id, oldest first, without sources."""
    query = select(ScriptVersion).where(ScriptVersion.script_id == script_id).order_by(ScriptVersion.version)
    return tx.scalars(query).all()


def add_version(
    tx: Tx,
    *,
    script_id: str,
    phase: str,
    source: str,
    sha256: str,
    options: dict[str, Any] | None,
    description: str,
    at: datetime,
) -> tuple[Script, ScriptVersion]:
    """A new version of an id that may be new as well."""
    script = tx.get(Script, script_id)
    if script is None:
        script = Script(id=script_id, enabled=True, removed=False, newest_version=0)
        tx.add(script)
    script.newest_version += 1
    added = ScriptVersion(
        script_id=script_id,
        version=script.newest_version,
        phase=phase,
        source=source,
        sha256=sha256,
        options=options,
        description=description,
        added_at=at,
    )
    tx.flush()
    tx.add(added)
    tx.flush()
    return script, added


def set_enabled(tx: Tx, script: Script, enabled: bool) -> None:
    """Whether crawls that name no scripts run this one."""
    script.enabled = enabled
    tx.flush()


def set_removed(tx: Tx, script: Script, removed: bool) -> None:
    """Whether the catalogue shows it. Its versions stay, so that their numbers are never used twice."""
    script.removed = removed
    if not removed:
        script.enabled = True
    tx.flush()


def describe(tx: Tx, version_row: ScriptVersion, description: str) -> None:
    """Change the words, which are no part of what a version is."""
    version_row.description = description
    tx.flush()
