"""What holds on both databases alike: one at a time, schema by migrations, one state of the data per transaction."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from ledger.store import targets
from ledger.store.database import Store
from tests.integration.ledger import databases
from tests.integration.ledger.desk import Desk


@pytest.mark.one_database
def test_suite_runs_on_postgresql_too() -> None:
    if databases.server() is None:
        pytest.skip(databases.NOT_HERE)


@pytest.fixture
def other(desk: Desk) -> Iterator[Store]:
    """A second ledger's store on the same database."""
    store = Store(desk.parts.settings.store_url)
    yield store
    store.close()


def test_only_one_is_exclusive_under_a_name(desk: Desk, other: Store) -> None:
    store = desk.parts.store
    with store.exclusively("a") as first, other.exclusively("a") as second, other.exclusively("b") as another:
        assert (first, second, another) == (True, False, True)
        with store.exclusively("a") as again:
            assert not again
    with other.exclusively("a") as now:
        assert now


def test_who_waits_gets_its_turn(desk: Desk, other: Store) -> None:
    got: list[bool] = []

    def wait() -> None:
        with other.exclusively("a", wait_s=30) as alone:
            got.append(alone)

    with desk.parts.store.exclusively("a"):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.3)
        assert got == []
    waiting.join(30)
    assert got == [True]


def test_lock_of_a_ledger_that_died_is_free(desk: Desk) -> None:
    holding = "import sys; from ledger.store.database import Store\n"
    holding += "with Store(sys.argv[1]).exclusively('a') as alone: print(alone, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holding, desk.parts.settings.store_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        with desk.parts.store.exclusively("a") as alone:
            assert not alone
        process.kill()
    with desk.parts.store.exclusively("a", wait_s=30) as alone:
        assert alone


def test_reading_sees_one_state_of_the_data(desk: Desk) -> None:
    url = "http://127.0.0.2/"
    with desk.parts.store.reading() as tx:
        before = targets.every(tx, None)
        desk.post("/api/targets", {"urls": [url]}, 201)
        assert targets.every(tx, None) == before == []
    with desk.parts.store.reading() as tx:
        assert [target.url for target in targets.every(tx, None)] == [url]
