"""Outlives a supervisor that was killed and could end nothing itself: a small process that waits at a pipe.

    python -I -S guard.py DATA_FOLDER GRACE_SECONDS    < pipe whose other end the supervisor holds

The supervisor writes a byte when it has ended everything. When the pipe closes without one, every child has been told
to end by the kernel already (`child.py`); what is still there after the grace - a flow run whose worker could not take
it along, a browser - is killed. Standard library only.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

MARKER = "COMITY_STACK"
"""In the environment of every process of a stack: its data folder."""


def marked_pids(root: str) -> list[int]:
    """Processes that carry the marker of that data folder; this one not. What another user runs is not seen."""
    wanted = f"{MARKER}={root}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def main(argv: list[str]) -> int:
    root, grace_s = argv[1], float(argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read(1):
        return 0
    deadline_s = time.monotonic() + grace_s
    while marked_pids(root) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    for pid in marked_pids(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
