"""A ledger that `comity watch …` takes for the one of a running stack."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from comity.cli.errors import BadInput
from comity.cli.main import app
from comity.cli.stack import remote
from comity.cli.stack.state import StackState
from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import ShiftedClock, ledger_at
from tests.integration.ledger.watching import Watch


@dataclass
class Shell(Watch):
    """Runs commands. `folder` is the stack's data folder."""

    folder: Path

    def run(self, *arguments: str, given: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, ["watch", *arguments, "--data", str(self.folder)], input=given)

    def says(self, *arguments: str, given: str | bytes | None = None) -> str:
        """What the command prints; it ends well."""
        result = self.run(*arguments, given=given)
        assert result.exit_code == 0, (result.output, result.exception)
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.says(*arguments, "--json"))

    def refuses(self, *arguments: str, given: str | bytes | None = None) -> str:
        """What the command says against it."""
        result = self.run(*arguments, given=given)
        assert isinstance(result.exception, BadInput), (result.output, result.exception)
        assert result.exception.exit_code == 2
        return str(result.exception)

    def in_part(self, *arguments: str, given: str | bytes | None = None) -> tuple[str, str]:
        """Output and complaints of a command that did what it could, exit 1."""
        result = self.run(*arguments, given=given)
        assert result.exit_code == 1, (result.output, result.exception)
        return result.stdout, result.stderr


@contextmanager
def shell_at(folder: Path, patch: pytest.MonkeyPatch, **settings: Any) -> Iterator[Shell]:
    """`settings` are the ledger's."""
    clock = ShiftedClock()
    with (
        FakePrefect() as prefect,
        ledger_at(folder / "ledger", folder / "artifacts", prefect, clock=clock, **settings) as desk,
    ):
        stack = StackState(pid=0, started_at="", data=str(folder), ready=True, addresses={"ledger": desk.url})
        patch.setattr(remote, "require_stack", lambda data: stack)
        patch.setenv("COLUMNS", "300")
        yield Shell(desk, clock, folder)
