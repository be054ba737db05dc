"""Starting and ending the processes of a stack, their descendants included. Linux: the tree comes from /proc."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import BinaryIO

import psutil

from comity.cli.stack.guard import MARKER, marked_pids

PR_SET_CHILD_SUBREAPER = 36
HERE = Path(__file__).resolve().parent
CHILD, GUARD = HERE / "child.py", HERE / "guard.py"
GUARD_GRACE_S = 6.0
"""Parts end within 5 s of the SIGTERM that the kernel sends them when the supervisor dies."""
POLL_S = 0.05


def become_subreaper() -> None:
    """Orphans among our descendants become our children, and so none is lost from sight when we end the tree."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1)


def spawn(command: Sequence[str], env: Mapping[str, str], log: BinaryIO, cwd: Path) -> subprocess.Popen[bytes]:
    """Starts a part in a session of its own, so that a Ctrl-C at the terminal reaches the supervisor alone.

    Call from the main thread: the kernel ties a child's end to the thread that started it.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(CHILD), str(os.getpid()), *command],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=cwd,
        start_new_session=True,
    )


class Guard:
    """The process that ends the tree when this one is killed. `release` before a clean end."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(root), str(GUARD_GRACE_S)],
            # Marked as the others: the next start on the folder ends it, before it takes the new tree for the old one.
            env=os.environ | {MARKER: str(root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def release(self) -> None:
        """Everything has ended: the guard has nothing left to do."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(b".")
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)


def descendants(pid: int) -> list[psutil.Process]:
    """The live processes below `pid`."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def trees() -> dict[int, list[psutil.Process]]:
    """Everything below this process, by the pid of the child of ours that it descends from. One pass over /proc."""
    below = descendants(os.getpid())
    parents: dict[int, int] = {}
    for process in below:
        with contextlib.suppress(psutil.Error):
            parents[process.pid] = process.ppid()
    found: dict[int, list[psutil.Process]] = {}
    for process in below:
        root = process.pid
        while parents.get(root, os.getpid()) != os.getpid():
            root = parents[root]
        if root != process.pid:
            found.setdefault(root, []).append(process)
    return found


def adopted(known: AbstractSet[int]) -> list[psutil.Process]:
    """Our children beyond the known pids: orphans that came to us as subreaper."""
    return [child for child in psutil.Process().children() if child.pid not in known]


def reap_adopted(known: AbstractSet[int]) -> None:
    """Takes leave of orphans that ended after we adopted them, so that they do not stay as zombies."""
    for child in adopted(known):
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


def end(processes: Iterable[psutil.Process], *, term_budget_s: float) -> None:
    """SIGTERM, and SIGKILL for those that are still there after the budget. Returns when the signals are sent."""
    waiting = list(processes)
    for process in waiting:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGTERM)
    deadline_s = time.monotonic() + term_budget_s
    while (waiting := [process for process in waiting if alive(process)]) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    kill(waiting)


@contextlib.contextmanager
def held(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Stopped for the length of the block, and going on after it."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.resume()


def kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def alive(process: psutil.Process) -> bool:
    """Still running, under the same identity (a pid that went to someone else is not)."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def left_behind(root: Path) -> list[psutil.Process]:
    """Processes of an earlier stack on that data folder, which a kill left without supervisor."""
    own_line = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for pid in marked_pids(str(root)):
        with contextlib.suppress(psutil.Error):
            if pid not in own_line:
                found.append(psutil.Process(pid))
    return found


def live_flow_runs(root: Path) -> set[str]:
    """Ids of the flow runs that a process of that data folder's stack is at."""
    found = set()
    for pid in marked_pids(str(root)):
        with contextlib.suppress(psutil.Error):
            run_id = psutil.Process(pid).environ().get("PREFECT__FLOW_RUN_ID")
            if run_id is not None:
                found.add(run_id)
    return found
