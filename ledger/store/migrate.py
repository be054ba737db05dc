"""Bring the schema up to this ledger's revision, one process at a time, and say where it is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import DBAPIError

from ledger.errors import SettingsRefused
from ledger.store.database import Store

MIGRATIONS = Path(__file__).parent.parent / "migrations"
LOCK = "migrate"
WAIT_S = 600
"""How long a process waits for another one that migrates; rewriting a large table takes minutes."""


@dataclass(frozen=True)
class Schema:
    """Where a database is, and where this ledger wants it. `found` is None where there is no schema yet."""

    found: str | None
    wanted: str

    @property
    def current(self) -> bool:
        return self.found == self.wanted


def schema_of(store: Store) -> Schema:
    """Look, and change nothing. Raises SettingsRefused where the database cannot be opened or is newer than we are."""
    with _connected(store.engine) as connection:
        return _schema(connection)


def migrate(store: Store) -> Schema:
    """Run what migrations are missing; returns where the schema was before. Two at once: one waits for the other.

    Raises SettingsRefused where the schema is newer than this ledger, and changes nothing.
    """
    config = _config()
    with _connected(store.engine) as connection, store.exclusively(LOCK, wait_s=WAIT_S) as alone:
        if not alone:
            raise SettingsRefused(f"another ledger has been migrating this database for {WAIT_S} s; try again later")
        schema = _schema(connection)
        connection.rollback()
        if not schema.current:
            with _handed_over(config, connection):
                command.upgrade(config, "head")
        return schema


def require_current(store: Store, *, may_migrate: bool) -> None:
    """See to it that this ledger can work on the database. An empty one gets its schema: there is nothing to lose.

    Raises SettingsRefused for an older one, with the next step, unless `may_migrate`; and for a newer one.
    """
    schema = schema_of(store)
    if schema.found is None or (may_migrate and not schema.current):
        migrate(store)
    elif not schema.current:
        raise SettingsRefused(
            f"LEDGER_DATABASE_URL: the schema is at revision {schema.found}, and this ledger works on {schema.wanted}. "
            "Stop the other ledgers of this database, make a backup (`python -m ledger backup FILE`), run "
            "`python -m ledger migrate`, and start again; or set LEDGER_MIGRATE_AT_START=true"
        )


def downgrade(store: Store, revision: str) -> None:
    """Back to an older revision, `base` for none at all. What the newer schema alone can hold is lost."""
    config = _config()
    with _connected(store.engine) as connection, store.exclusively(LOCK, wait_s=WAIT_S) as alone:
        if not alone:
            raise SettingsRefused(f"another ledger has been migrating this database for {WAIT_S} s; try again later")
        with _handed_over(config, connection):
            command.downgrade(config, revision)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _handed_over(config: Config, connection: Connection) -> Iterator[None]:
    """Let migrations use the connection. On SQLite they rebuild tables: with foreign keys on, dropping the old `crawl`
    would delete every page of every crawl, without a word (SQLite documentation, foreign keys, section 5)."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        _foreign_keys(connection, on=False)
    config.attributes["connection"] = connection
    try:
        yield
        if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
            raise SettingsRefused("after the migration rows point at rows that are gone; go back to the backup")
    finally:
        connection.rollback()
        if sqlite:
            _foreign_keys(connection, on=True)


def _foreign_keys(connection: Connection, *, on: bool) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute(f"PRAGMA foreign_keys={'ON' if on else 'OFF'}")  # outside transactions alone


@cache
def _revisions() -> tuple[str, frozenset[str]]:
    """The newest one and all: read once, for Alembic compiles every migration anew to know them."""
    scripts = ScriptDirectory.from_config(_config())
    newest = scripts.get_current_head()
    assert newest is not None
    return newest, frozenset(script.revision for script in scripts.walk_revisions())


def _schema(connection: Connection) -> Schema:
    wanted, known = _revisions()
    found = MigrationContext.configure(connection).get_current_revision()
    where = connection.engine.url.render_as_string(hide_password=True)
    if found is not None and found not in known:
        raise SettingsRefused(
            f"LEDGER_DATABASE_URL: the schema of {where} is at revision {found}, which this ledger does not know: it "
            f"was written by a newer one, and this one works on {wanted}. Start that version, or point at another "
            "database."
        )
    if found is None and inspect(connection).has_table("crawl"):
        raise SettingsRefused(
            f"LEDGER_DATABASE_URL: {where} has a `crawl` table that is not ours; name another database"
        )
    return Schema(found, wanted)


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    try:
        connection = engine.connect()
    except DBAPIError as error:
        where = engine.url.render_as_string(hide_password=True)
        raise SettingsRefused(f"LEDGER_DATABASE_URL: cannot open {where}: {error.orig}") from None
    with connection:
        yield connection
