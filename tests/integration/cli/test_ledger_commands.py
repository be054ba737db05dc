"""`comity search`, `token list` and `cancel` against a real ledger."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from blocks.clients.ledger import LedgerClient
from comity.cli import commands_ledger, commands_token, ledger_access
from comity.cli.errors import CliError
from comity.cli.main import app
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import Desk, ledger_at

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with FakePrefect() as prefect, ledger_at(folder / "data", folder / "store", prefect) as running:
        yield running


@pytest.fixture
def run(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    def client(*_: object) -> LedgerClient:
        return LedgerClient(desk.url, desk.token, "", timeout_ms=30_000)

    monkeypatch.setattr(ledger_access, "running_ledger", client)
    monkeypatch.setattr(commands_ledger, "ledger_of", client)
    monkeypatch.setattr(commands_token, "_ledger", client)
    return lambda *arguments: CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(("query", "hinted"), [('"not closed', True), ('fox "not closed”', False), ("fox", False)])
def test_open_quote_of_a_search_is_told(run: Run, query: str, hinted: bool) -> None:
    done = run("search", query)
    assert (done.exit_code, done.stdout) == (1, "0 found\n")
    assert ("the last quote is not closed" in done.stderr) is hinted


def test_no_tokens_are_a_line_that_names_how_to_make_one(run: Run) -> None:
    done = run("token", "list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "no tokens; `comity token create NAME --role ROLE` makes one\n"
    assert run("token", "list", "--json").output == "[]\n"


def test_crawl_that_has_ended_cannot_be_cancelled_and_is_named_once(desk: Desk, run: Run) -> None:
    crawl_id = desk.start("http://127.0.0.2/", maxDepth=0)
    desk.do_level(crawl_id)
    done = run("cancel", crawl_id)
    assert isinstance(done.exception, CliError)
    assert str(done.exception).startswith(f"crawl {crawl_id} has ended already: ")
