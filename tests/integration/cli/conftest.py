"""`comity extract run` in this process, and the web that extractors are tried on."""

import io
import sys
from pathlib import Path

import pytest

from comity.cli.main import main
from tests.integration.cli.extracting import Done, Run
from tests.integration.extract.conftest import other_web, web

__all__ = ["other_web", "run", "web"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in this process, which costs a tenth of one of its own."""

    def run_here(folder: Path, *arguments: str, given: str = "") -> Done:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["comity", "extract", "run", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return run_here
