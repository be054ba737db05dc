"""The databases that the ledger's tests run on: SQLite always, PostgreSQL where `COMITY_TEST_POSTGRES` names one."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from ledger.store.database import Store
from ledger.store.migrate import migrate
from ledger.store.models import Base

VARIABLE = "COMITY_TEST_POSTGRES"
SQLITE, POSTGRESQL = "sqlite", "postgresql"
NOT_HERE = f"{VARIABLE} names no PostgreSQL; set it to postgresql://user@host:port/database"


def server() -> str | None:
    """The PostgreSQL that tests may make databases on, or None."""
    return os.environ.get(VARIABLE) or None


@contextmanager
def empty_database(*, durable: bool = False) -> Iterator[str]:
    """The URL of a new PostgreSQL database without a schema, dropped afterwards whoever is still connected."""
    given = server()
    assert given is not None, NOT_HERE
    name = f"comity_test_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    # Tests ask for no durability: waiting for the disk at each commit would be most of their time.
    url = make_url(given).set(database=name, query={} if durable else {"options": "-c synchronous_commit=off"})
    try:
        yield url.render_as_string(hide_password=False)
    finally:
        with psycopg.connect(given, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def database(kind: str, *, durable: bool = False) -> Iterator[str | None]:
    """A database with the ledger's schema: its URL, or None for SQLite, which each data folder has its own of."""
    if kind == SQLITE:
        yield None
        return
    with empty_database(durable=durable) as url:
        store = Store(url)
        migrate(store)
        store.close()
        yield url


def empty(url: str) -> None:
    """Remove every row: a tenth of the time that a new database takes."""
    store = Store(url)
    with store.writing() as tx:
        for table in reversed(Base.metadata.sorted_tables):
            tx.execute(table.delete())
    store.close()
