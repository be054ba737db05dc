"""Whose processes live: nothing that the tests started can hide from them.

A process whose parent dies goes to the nearest ancestor that takes orphans (`PR_SET_CHILD_SUBREAPER`, Linux). While
`no_orphan` runs, that is us: whatever session or group it made for itself, an orphan is our child then.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.integration.capture.server import until

PR_SET_CHILD_SUBREAPER = 36
GONE_S = 10.0


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a process that ended and was not asked for its status does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def descendants() -> set[psutil.Process]:
    """Every process that runs below this one."""
    return {process for process in psutil.Process().children(recursive=True) if alive(process)}


def kinds(processes: list[psutil.Process]) -> list[str]:
    """What each process of a browser is, sorted: `renderer`, `gpu-process`, the service's name, or `browser`."""
    return sorted(kind for process in processes if (kind := kind_of(process)))


def kind_of(process: psutil.Process) -> str:
    """Empty for a process that is gone."""
    try:
        named = dict(part[2:].partition("=")[::2] for part in process.cmdline() if part.startswith("--"))
        return (named.get("utility-sub-type") or named.get("type", "browser")) if alive(process) else ""
    except psutil.Error:
        return ""


@contextlib.contextmanager
def no_orphan() -> Iterator[None]:
    """What the block starts has ended when it ends, children of children too. Skips where orphans cannot be taken."""
    if sys.platform != "linux":
        pytest.skip("orphans are only handed over to us on Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
    before = descendants()
    try:
        yield
        assert until(lambda: not descendants() - before, GONE_S), [
            (process.pid, process.cmdline()) for process in descendants() - before
        ]
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        _bury({process.pid for process in before})


def _bury(ours: set[int]) -> None:
    """Takes the status of orphans that ended; our own children's is not ours to take here."""
    for process in psutil.Process().children():
        if process.pid not in ours and not alive(process):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
