"""The schema: up, down and up again, one process at a time, and never by surprise."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import JSON, Column, inspect

from ledger.errors import SettingsRefused
from ledger.store.database import Store
from ledger.store.migrate import LOCK, downgrade, migrate, require_current, schema_of
from ledger.store.models import Base
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger import databases
from tests.integration.ledger.databases import SQLITE
from tests.integration.ledger.desk import ledger_at
from tests.integration.ledger.processes import environment


@pytest.fixture
def empty(tmp_path: Path, database_kind: str) -> Iterator[Store]:
    """A database without a schema."""
    if database_kind == SQLITE:
        store = Store(f"sqlite:///{tmp_path / 'ledger.db'}")
        yield store
        store.close()
        return
    with databases.empty_database() as url:
        store = Store(url)
        yield store
        store.close()


def _described_by_models(name: str | None, _kind: str = "table", _parents: object = None) -> bool:
    """The full-text index is the database's own, and so are the tables that it is kept in."""
    return not (name or "").startswith("page_text_fts")


def _differences(store: Store) -> object:
    def defaults_differ(_context: object, _found: object, column: Column[Any], *_: object) -> bool | None:
        return False if isinstance(column.type, JSON) else None  # PostgreSQL compares no json; None: Alembic's own way

    with store.engine.connect() as connection:
        compares = connection.dialect.name != "sqlite"
        options = {
            "include_name": _described_by_models,
            "compare_type": True,
            "compare_server_default": defaults_differ if compares else False,
        }
        return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)


def _keys(store: Store) -> dict[str, object]:
    """What autogenerate does not compare: conditions of indexes, and what becomes of rows that point at others."""
    found = inspect(store.engine)

    def of(table: str) -> object:
        indexes = sorted(
            (
                str(index["name"]),
                index["column_names"],
                sorted(f"{key} {to}" for key, to in index["dialect_options"].items()),
            )
            for index in found.get_indexes(table)
        )
        foreign = sorted(
            (key["constrained_columns"], key["referred_table"], key["options"]) for key in found.get_foreign_keys(table)
        )
        return indexes, foreign, found.get_pk_constraint(table)["constrained_columns"]

    return {
        table: of(table)
        for table in found.get_table_names()
        if table != "alembic_version" and _described_by_models(table)
    }


def test_migrations_give_what_the_models_say_up_down_and_up_again(empty: Store) -> None:
    assert schema_of(empty).found is None
    migrate(empty)
    assert _differences(empty) == []
    migrated = _keys(empty)
    downgrade(empty, "base")
    assert inspect(empty.engine).get_table_names() == ["alembic_version"]
    with empty.engine.begin() as connection:
        Base.metadata.create_all(connection)
    assert migrated == _keys(empty)
    with empty.engine.begin() as connection:
        Base.metadata.drop_all(connection)
    migrate(empty)
    assert _differences(empty) == []
    assert schema_of(empty).current


def test_rows_outlive_the_way_down_and_up(tmp_path: Path, prefect: FakePrefect) -> None:
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        crawl_id = desk.start("http://127.0.0.2/", maxDepth=1)
        desk.do_level(crawl_id, links={"http://127.0.0.2/": ["http://127.0.0.2/a"]})
        desk.run_id(crawl_id, 1)
        before = desk.get(f"/api/crawls/{crawl_id}/pages")
        store = Store(desk.parts.settings.store_url)
    downgrade(store, "0001")
    assert not schema_of(store).current
    migrate(store)
    store.close()
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as desk:
        assert desk.get(f"/api/crawls/{crawl_id}/pages") == before
        assert desk.crawl(crawl_id)["counts"]["captured"] == 1


def test_older_schema_is_refused_with_the_command_and_brought_up_where_allowed(empty: Store) -> None:
    migrate(empty)
    downgrade(empty, "0001")
    with pytest.raises(SettingsRefused, match=r"0001.*python -m ledger migrate"):
        require_current(empty, may_migrate=False)
    assert schema_of(empty).found == "0001"
    require_current(empty, may_migrate=True)
    require_current(empty, may_migrate=False)


def test_empty_database_gets_its_schema(empty: Store) -> None:
    require_current(empty, may_migrate=False)
    assert schema_of(empty).current


def test_schema_of_a_newer_ledger_is_refused_and_left_alone(empty: Store) -> None:
    migrate(empty)
    with empty.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for attempt in (migrate, schema_of):
        with pytest.raises(SettingsRefused, match=r"LEDGER_DATABASE_URL.*9999.*this one works on \d{4}"):
            attempt(empty)


def test_two_migrations_at_once_take_turns(empty: Store) -> None:
    other = Store(empty.engine.url.render_as_string(hide_password=False))
    done = threading.Event()

    def second() -> None:
        migrate(other)
        done.set()

    with empty.exclusively(LOCK):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not done.wait(0.5)
        assert schema_of(empty).found is None
    assert done.wait(60)
    waiting.join()
    other.close()
    assert schema_of(empty).current


@pytest.mark.one_database
def test_command_migrates_and_says_so(tmp_path: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "ledger", *arguments]
        return subprocess.run(
            command, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False
        )

    done = run("migrate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from revision none to" in done.stdout
    store = Store(f"sqlite:///{tmp_path / 'data' / 'ledger.db'}")
    downgrade(store, "0001")
    store.close()
    refused = run()
    assert refused.returncode == 2
    assert "python -m ledger migrate" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "from revision 0001 to" in run("migrate").stdout
    assert "already" in run("migrate").stdout
