"""A consistent copy of the ledger's database while ledgers work on it."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import URL

from ledger.errors import SettingsRefused
from ledger.store.database import Store

PAGES_AT_ONCE = 2_000
"""Between two portions of the copy (8 MB) writers get their turn."""


def copy_to(store: Store, target: Path) -> int:
    """Write a copy to `target`, by SQLite's online backup: what was committed before the end is in it, whole.

    The copy is one plain file, without a log beside it, for its owner alone. Returns its bytes. Raises FileExistsError
    rather than overwrite anything, SettingsRefused for a database that is not SQLite, OSError where it cannot be
    written; what was begun is removed then.
    """
    if store.engine.dialect.name != "sqlite":
        raise SettingsRefused(
            "this ledger is on PostgreSQL, whose own tool makes the copy while it runs:\n  " + pg_dump(store.engine.url)
        )
    # Beside the target and renamed at the end: a copy that was cut short never looks like one.
    begun = target.with_name(target.name + ".part")
    os.close(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        if target.exists():
            raise FileExistsError(17, "exists; name another file", str(target))
        _copy(str(store.engine.url.database), begun)
        begun.rename(target)
    finally:
        begun.unlink(missing_ok=True)
    return target.stat().st_size


def pg_dump(url: URL) -> str:
    """The command that copies this database, without the password: pg_dump takes it from PGPASSWORD or ~/.pgpass."""
    plain = URL.create(
        "postgresql", username=url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string(hide_password=True)
    return f"pg_dump --format=custom --file=ledger.dump '{plain}'"


def _copy(source: str, target: Path) -> None:
    try:
        reading, writing = sqlite3.connect(source), sqlite3.connect(target)
        try:
            reading.backup(writing, pages=PAGES_AT_ONCE, sleep=0.01)
            writing.execute("PRAGMA journal_mode=DELETE")
            broken = writing.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            reading.close()
            writing.close()
    except sqlite3.Error as error:
        raise OSError(f"the copy failed: {error}") from None
    if broken != "ok":
        raise OSError(f"the copy does not hold together: {broken}; check the disk that {source} is on")
