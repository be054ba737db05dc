"""The embedded Prefect's database: laid out from a template, and written to in turns."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from prefect.server.database.configurations import AioSqliteConfiguration
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from comity.cli.stack import prefect_database
from comity.cli.stack.prefect_database import WaitsForItsTurn, lay_out, template
from tests.integration.flows.conftest import PrefectServer

pytestmark = pytest.mark.prefect


def rows(database: Path, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as reader:
        return reader.execute(f"SELECT * FROM {table}").fetchall()


def write_table(database: Path, value: str) -> None:
    with closing(sqlite3.connect(database)) as writer, writer:
        writer.execute("CREATE TABLE alembic_version (version_num)")
        writer.execute("INSERT INTO alembic_version VALUES (?)", (value,))


def test_a_database_from_the_template_is_up_to_date_empty_and_its_owners_alone(
    prefect: PrefectServer, tmp_path: Path
) -> None:
    database = tmp_path / "prefect.db"
    lay_out(database, template())
    brought_up_to_date = Path(prefect.env["PREFECT_HOME"]) / "prefect.db"  # by the server, at its start
    assert rows(database, "alembic_version") == rows(brought_up_to_date, "alembic_version") != []
    for table in ("flow", "flow_run", "deployment", "work_pool", "block_document", "configuration", "log", "events"):
        assert rows(database, table) == []
    assert database.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [database]


def test_a_database_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    database, kept = tmp_path / "prefect.db", tmp_path / "kept.db"
    write_table(database, "mine")
    write_table(kept, "kept")
    lay_out(database, kept)
    assert rows(database, "alembic_version") == [("mine",)]


@pytest.mark.parametrize("was", ["missing", "broken", "empty", "without tables"])
def test_a_template_that_is_not_whole_is_made_anew(was: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, kept = tmp_path / "prefect.db", tmp_path / "share" / "kept.db"
    kept.parent.mkdir()
    if was == "broken":
        kept.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    elif was == "empty":
        kept.touch()
    elif was == "without tables":
        with closing(sqlite3.connect(kept)) as writer, writer:
            writer.execute("CREATE TABLE alembic_version (version_num)")

    async def make() -> None:
        write_table(database, "made")

    monkeypatch.setattr(prefect_database, "_make", make)
    lay_out(database, kept)
    assert rows(database, "alembic_version") == rows(kept, "alembic_version") == [("made",)]
    assert list(kept.parent.iterdir()) == [kept]


def test_an_installation_that_may_not_be_written_to_still_gets_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "prefect.db"
    (tmp_path / "share").write_text("a file where the folder would be")

    async def make() -> None:
        write_table(database, "made")

    monkeypatch.setattr(prefect_database, "_make", make)
    lay_out(database, tmp_path / "share" / "kept.db")
    assert rows(database, "alembic_version") == [("made",)]


@asynccontextmanager
async def two_sessions(config: AioSqliteConfiguration) -> AsyncIterator[tuple[AsyncSession, AsyncSession]]:
    engine = await config.engine()
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TABLE counts (n INTEGER)"))
        await connection.execute(sa.text("INSERT INTO counts VALUES (0)"))
    async with await config.session(engine) as one, await config.session(engine) as other:
        yield one, other


async def read_then_write(config: AioSqliteConfiguration, session: AsyncSession, has_read: asyncio.Event) -> None:
    """As most of Prefect's requests do."""
    async with config.begin_transaction(session):
        n = (await session.execute(sa.text("SELECT n FROM counts"))).scalar_one()
        has_read.set()
        await asyncio.sleep(0.2)  # the other's chance to come in between
        await session.execute(sa.text("UPDATE counts SET n = :n"), {"n": n + 1})


async def both(config: AioSqliteConfiguration) -> int:
    """What two such requests at once leave behind."""
    async with two_sessions(config) as (one, other):
        has_read = asyncio.Event()
        first = asyncio.create_task(read_then_write(config, one, has_read))
        await has_read.wait()
        outcomes = await asyncio.gather(first, read_then_write(config, other, asyncio.Event()), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return int((await one.execute(sa.text("SELECT n FROM counts"))).scalar_one())


async def test_requests_that_want_to_write_at_once_take_turns(tmp_path: Path) -> None:
    assert await both(WaitsForItsTurn(connection_url=f"sqlite+aiosqlite:///{tmp_path}/mine.db")) == 2


async def test_prefects_own_way_refuses_one_of_them(tmp_path: Path) -> None:
    """Why there is ours. Where this fails one day, ours is needed no longer."""
    with pytest.raises(OperationalError, match="database is locked"):
        await both(AioSqliteConfiguration(connection_url=f"sqlite+aiosqlite:///{tmp_path}/theirs.db"))
