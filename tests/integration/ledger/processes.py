"""`python -m ledger` as a process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The settings of a ledger on this folder; `(unset)` leaves one out."""
    chosen = {
        "LEDGER_PORT": "0",
        "LEDGER_DATA": str(folder / "data"),
        "LEDGER_ARTIFACT_ROOT": str(folder / "store"),
        "LEDGER_PREFECT_API_URL": "http://127.0.0.1:9/api",
        "LEDGER_PREFECT_AUTH_STRING": "",
        **settings,
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LEDGER_")}
    return {**kept, **{name: value for name, value in chosen.items() if value != "(unset)"}}


@contextmanager
def ledger_process(folder: Path, **settings: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A ledger that listens, and its URL. What is left of it at the end is killed."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "ledger"],
        env=environment(folder, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                raise AssertionError(process.communicate(timeout=60)[1])
            yield process, json.loads(said)["listening"]
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=60)
