"""The small place for what databases do differently. Everything else in the store is plain SQLAlchemy."""

import sqlite3
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Literal

from sqlalchemy import URL, Engine, Table, bindparam, event, func, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from ledger.store.models import Base

BUSY_TIMEOUT_MS = 10_000
"""How long a transaction waits for another one that writes before it gives up."""
CONNECT_TIMEOUT_S = 5
IDLE_TIMEOUT_MS = 60_000
"""A ledger that froze in the middle of a transaction keeps its rows locked for so long and no longer."""

MANY_ROWS = 100
"""From here on the arrays of one statement beat a statement for each row."""

WRITES = "comity_writes"
"""Execution option of connections that will write: SQLite must take the write lock at once. A transaction that reads
first and writes later fails with "database is locked" the moment another one wrote in between, and no timeout helps."""


def with_driver(url: str) -> URL:
    """The URL with our driver where it names none: `postgresql://` and the older `postgres://` mean psycopg 3."""
    parsed = make_url(url)
    return parsed.set(drivername="postgresql+psycopg") if parsed.drivername in ("postgresql", "postgres") else parsed


def engine_options(url: str) -> dict[str, Any]:
    """How connections are made. No wait on PostgreSQL is without a budget either: to connect, or for a row's lock."""
    if not with_driver(url).drivername.startswith("postgresql"):
        return {}
    limits = f"-c lock_timeout={BUSY_TIMEOUT_MS} -c idle_in_transaction_session_timeout={IDLE_TIMEOUT_MS}"
    given = make_url(url).query.get("options", "")
    return {
        "pool_pre_ping": True,  # a database that was restarted costs no request
        "connect_args": {
            "connect_timeout": CONNECT_TIMEOUT_S,
            "tcp_user_timeout": BUSY_TIMEOUT_MS,
            "application_name": "comity-ledger",
            "options": f"{limits} {given}".strip(),
        },
    }


def reading_options(engine: Engine) -> dict[str, Any]:
    """What makes all statements of a reading transaction see one state of the data, as SQLite always does."""
    if engine.dialect.name != "postgresql":
        return {}
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def prepare(engine: Engine) -> None:
    """Give every SQLite connection its pragmas and its own BEGIN. Other databases need nothing."""
    if engine.dialect.name != "sqlite":
        return

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions of its own
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


SQLITE_FULL = ("database or disk is full", "disk i/o error", "readonly database", "unable to open database file")
SQLITE_BUSY = ("locked", "busy")
POSTGRESQL_FULL = ("53100", "25006", "58030")  # disk_full, read_only_sql_transaction, io_error
POSTGRESQL_BUSY = ("55P03", "40P01", "40001", "53300", "57014")
"""lock_not_available, deadlock_detected, serialization_failure, too_many_connections, query_canceled."""


Trouble = Literal["full", "busy", "away"]


def trouble(error: DBAPIError) -> Trouble | None:
    """What a caller can wait for, or None where the error is ours."""
    if error.connection_invalidated:
        return "away"
    return _of_sqlite(error) if isinstance(error.orig, sqlite3.Error) else _of_postgresql(error)


def _of_sqlite(error: DBAPIError) -> Trouble | None:
    message = str(error.orig).lower()
    if any(words in message for words in SQLITE_FULL):
        return "full"
    return "busy" if any(words in message for words in SQLITE_BUSY) else None


def _of_postgresql(error: DBAPIError) -> Trouble | None:
    state = getattr(error.orig, "sqlstate", None)
    if state in POSTGRESQL_FULL:
        return "full"
    if state in POSTGRESQL_BUSY:
        return "busy"
    # Connections that were never made have no state; class 08 and 57P are those that were cut.
    cut = isinstance(error, OperationalError) and (state is None or state.startswith(("08", "57P")))
    return "away" if cut else None


def insert_new(tx: Session, model: type[Base], rows: Sequence[Mapping[str, Any]], unique: Sequence[str]) -> None:
    """Insert the rows that `unique` does not know yet, in order, and leave the others as they are."""
    if not rows:
        return
    table = model.__table__
    assert isinstance(table, Table)
    # One small statement for all rows, not one huge one: that took SQLAlchemy ten times as long to write.
    connection = tx.connection()
    if connection.dialect.name != "postgresql":
        statement = sqlite.insert(table).on_conflict_do_nothing(index_elements=unique)
        if len(rows) < MANY_ROWS or not _as_they_are(connection, table, rows[0]):
            connection.execute(statement, list(rows))
        else:
            compiled = statement.compile(dialect=connection.dialect, column_keys=list(rows[0]))
            order = itemgetter(*(compiled.positiontup or ()))
            connection.exec_driver_sql(str(compiled), [order(row) for row in rows])
    elif len(rows) < MANY_ROWS:
        connection.execute(postgresql.insert(table).on_conflict_do_nothing(index_elements=unique), list(rows))
    else:
        connection.execute(_from_arrays(table, rows).on_conflict_do_nothing(index_elements=unique))


def _as_they_are(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """True where the driver takes the values as they are, so that SQLAlchemy need not look at each of 700,000."""
    types = [table.c[name].type.dialect_impl(connection.dialect) for name in row]
    return len(row) > 1 and all(kind.bind_processor(connection.dialect) is None for kind in types)


def _from_arrays(table: Table, rows: Sequence[Mapping[str, Any]]) -> postgresql.Insert:
    """An insert of all rows as one statement with an array for each column: PostgreSQL's fastest beside COPY."""
    names = list(rows[0])
    arrays = [
        bindparam(None, [row[name] for row in rows], type_=postgresql.ARRAY(table.c[name].type)) for name in names
    ]
    source = func.unnest(*arrays).table_valued(*names).render_derived()
    return postgresql.insert(table).from_select(names, select(*(source.c[name] for name in names)))


def upsert(
    tx: Session, model: type[Base], rows: Sequence[Mapping[str, Any]], unique: Sequence[str], change: Sequence[str]
) -> None:
    """Insert the rows; where `unique` knows one already, set its `change` columns to the new values."""
    if not rows:
        return
    if tx.get_bind().dialect.name == "postgresql":
        pg = postgresql.insert(model)
        changed = {name: pg.excluded[name] for name in change}
        tx.execute(pg.on_conflict_do_update(index_elements=unique, set_=changed), list(rows))
    else:
        lite = sqlite.insert(model)
        changed = {name: lite.excluded[name] for name in change}
        tx.execute(lite.on_conflict_do_update(index_elements=unique, set_=changed), list(rows))


def add_up(
    tx: Session, model: type[Base], rows: Sequence[Mapping[str, Any]], unique: Sequence[str], counts: str
) -> None:
    """Insert the rows; where `unique` knows one already, its `counts` grows by the new value."""
    if not rows:
        return
    table = model.__table__
    assert isinstance(table, Table)
    if tx.get_bind().dialect.name == "postgresql":
        pg = postgresql.insert(table)
        tx.execute(
            pg.on_conflict_do_update(index_elements=unique, set_={counts: table.c[counts] + pg.excluded[counts]}),
            list(rows),
        )
    else:
        lite = sqlite.insert(table)
        tx.execute(
            lite.on_conflict_do_update(index_elements=unique, set_={counts: table.c[counts] + lite.excluded[counts]}),
            list(rows),
        )
