"""Log files of the parts: one per part, the last run's kept beside it, none growing without end."""

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LONGEST_BYTES = 32 * 1024 * 1024
TAIL_BYTES = 8192


def begin(path: Path) -> None:
    """A new run of the stack: the last run's log moves to `.log.1`."""
    with suppress(FileNotFoundError):
        path.replace(path.with_name(path.name + ".1"))


def open_log(path: Path) -> BinaryIO:
    """For appending, by its owner alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def cut(path: Path) -> None:
    """Keeps a log that outgrew its limit as `.log.1` and empties it, while its writer goes on appending."""
    with suppress(OSError):
        if path.stat().st_size > LONGEST_BYTES:
            path.with_name(path.name + ".1").write_bytes(path.read_bytes())
            os.truncate(path, 0)


def last_line(path: Path) -> str:
    """The last line that says something, for a message; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
