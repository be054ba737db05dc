"""The SQLite database of the embedded Prefect server: made from a template, and written to in turns.

Imports Prefect's server: for its own process alone.
"""

import asyncio
import contextlib
import os
import sqlite3
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import prefect
from prefect.server.database import provide_database_interface
from prefect.server.database.configurations import AioSqliteConfiguration
from prefect.server.models.block_registration import run_block_auto_registration

TEMPLATES = Path(sys.prefix) / "share" / "comity"
"""Belongs to the installation: an empty database holds nobody's data."""


class WaitsForItsTurn(AioSqliteConfiguration):
    """Takes the write lock when a transaction begins, and waits for it.

    Prefect's own begins most transactions as readers. One that has read and then wants to write is refused at once
    where another has written in between (SQLITE_BUSY_SNAPSHOT; no busy timeout helps), and the request ends in a 503.
    """

    @asynccontextmanager
    async def begin_transaction(
        self,
        session: Any,  # SQLAlchemy's AsyncSession, as what follows is its transaction
        with_for_update: bool = False,  # noqa: ARG002 - every transaction is begun so
    ) -> AsyncGenerator[Any, None]:
        async with super().begin_transaction(session, with_for_update=True) as transaction:
            yield transaction


def template() -> Path:
    """Where the empty database of this version of Prefect is kept."""
    return TEMPLATES / f"prefect-{prefect.__version__}.db"


def lay_out(database: Path, kept: Path) -> None:
    """An empty database where there is none, copied from `kept`; the first one is made, and kept for the next.

    Prefect makes its tables by some hundred migrations, which takes longer than all the rest of its start. It still
    looks at the database when it starts, and brings one of an older Prefect up to date.
    """
    if database.exists():
        return
    if _is_whole(kept):
        _copy(kept, database)
        return
    asyncio.run(_make())
    # An installation that may not be written to has no template: its next database takes as long as this one.
    with contextlib.suppress(OSError, sqlite3.Error):
        kept.parent.mkdir(parents=True, exist_ok=True)
        _copy(database, kept)
        kept.chmod(0o644)


async def _make() -> None:
    """The database that Prefect's settings name, with its tables and the types of its own Blocks."""
    interface = provide_database_interface()
    await interface.create_db()
    async with await interface.session() as session:
        await run_block_auto_registration(session=session)


def _copy(source: Path, target: Path) -> None:
    """One consistent file, for its owner alone, that is there as a whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    draft = Path(name)
    try:
        with closing(sqlite3.connect(source)) as reader, closing(sqlite3.connect(draft)) as writer:
            reader.backup(writer)
            writer.execute("PRAGMA journal_mode = DELETE")  # as one file: the server makes its log anew
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _is_whole(kept: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"file:{kept}?mode=ro", uri=True)) as reader:
            return bool(reader.execute("SELECT count(*) FROM alembic_version").fetchone()[0]) and (
                reader.execute("PRAGMA quick_check").fetchone()[0] == "ok"
            )
    except sqlite3.Error:
        return False
