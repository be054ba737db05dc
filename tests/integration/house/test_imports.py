"""The house's import rules hold, and each of them would notice: a violation planted in a copy is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("comity", "flows", "blocks", "ledger")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [str(command), "--no-cache"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_house_as_it_stands_is_accepted(copy: Path) -> None:
    done = lint_imports(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line", "named"),
    [
        ("ledger/rules/planted.py", "import httpx", "Rules and contracts"),
        ("ledger/rules/planted.py", "import time", "Rules and contracts"),
        ("flows/rules/planted.py", "import prefect", "Rules and contracts"),
        ("comity/contract/planted.py", "import sqlalchemy", "Rules and contracts"),
        ("comity/contract/planted.py", "import comity.polite", "Imports point down"),
        ("ledger/services/planted.py", "import flows.rules", "Imports point down"),
        ("comity/capture/planted.py", "import comity.tscompile", "Imports point down"),
        ("blocks/planted.py", "import ledger.rules", "Imports point down"),
        ("ledger/services/planted.py", "import sqlalchemy", "SQL lives in ledger.store"),
        ("flows/planted.py", "import sqlalchemy", "SQL lives in ledger.store"),
        ("comity/extract/planted.py", "import aiohttp", "The web is reached"),
        ("flows/planted.py", "import requests", "The web is reached"),
    ],
)
def test_a_planted_violation_is_found(copy: Path, module: str, line: str, named: str) -> None:
    (copy / module).write_text(line + "\n")
    done = lint_imports(copy)
    assert done.returncode != 0
    assert named in done.stdout
    broken = [text for text in done.stdout.splitlines() if "BROKEN" in text]
    assert any(named in text for text in broken), done.stdout
