"""How the process of a flow run starts."""

import os
import subprocess
import sys
from pathlib import Path

from comity.cli.stack.prepare import RUN_MODULE

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT__")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_is_prefects_engine_and_says_nothing_of_its_own() -> None:
    done = run("-m", RUN_MODULE)
    assert done.returncode == 1
    assert "Invalid flow run id" in done.stderr
    assert "Warning" not in done.stderr


def test_garbage_is_collected_again_once_the_modules_are_loaded() -> None:
    assert run("-c", f"import gc, {RUN_MODULE}; assert gc.isenabled()").returncode == 0
