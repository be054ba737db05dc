"""Ledgers for tests, on both databases."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger import databases
from tests.integration.ledger import desk as desks
from tests.integration.ledger.databases import POSTGRESQL, SQLITE
from tests.integration.ledger.desk import Desk, ledger_at


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of this folder runs on both databases, but for those that say `one_database`.

    Where there is no PostgreSQL, one test says so for all (test_databases.py).
    """
    if "database_kind" not in metafunc.fixturenames:
        return
    alone = metafunc.definition.get_closest_marker("one_database") or databases.server() is None
    kinds = [SQLITE] if alone else [SQLITE, POSTGRESQL]
    metafunc.parametrize("database_kind", kinds, indirect=True, scope="module")


@pytest.fixture(scope="module")
def database_kind(request: pytest.FixtureRequest) -> str:
    """`sqlite` or `postgresql`."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def _postgresql() -> Iterator[str]:
    with databases.database(POSTGRESQL) as url:
        assert url is not None
        yield url


@pytest.fixture(autouse=True)
def database_url(request: pytest.FixtureRequest, database_kind: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """An empty database, which `ledger_at` takes in this test; None for SQLite in the ledger's own data folder."""
    url: str | None = None
    if database_kind == POSTGRESQL:
        url = request.getfixturevalue("_postgresql")
        assert url is not None
        databases.empty(url)
    monkeypatch.setattr(desks, "database_url", url)
    return url


@pytest.fixture
def prefect() -> Iterator[FakePrefect]:
    """A Prefect API that does as it is told."""
    with FakePrefect() as fake:
        yield fake


@pytest.fixture
def desk(tmp_path: Path, prefect: FakePrefect, database_url: str | None) -> Iterator[Desk]:
    """A fresh ledger."""
    with ledger_at(tmp_path / "data", tmp_path / "store", prefect) as running:
        yield running


@pytest.fixture(scope="module")
def shared_desk(tmp_path_factory: pytest.TempPathFactory, database_kind: str) -> Iterator[Desk]:
    """One ledger for the many tests of a module that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    with ExitStack() as stack:
        url = stack.enter_context(databases.database(database_kind))
        fake = stack.enter_context(FakePrefect())
        yield stack.enter_context(ledger_at(folder / "data", folder / "store", fake, database_url=url))
