"""The first thing that runs in each child of the supervisor: makes it end when its parent does, then becomes the part.

    python -I -S child.py PARENT_PID COMMAND...

A program of its own and not a hook between fork and exec: such a hook runs Python in a copy of a process whose other
threads hold locks. Standard library only, no site: it costs about 20 ms.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
UNKNOWN_COMMAND = 127


def main(argv: list[str]) -> int:
    parent_pid, command = int(argv[1]), argv[2:]
    # A shell that starts a job with & from a script makes it ignore SIGINT, and ignoring is inherited through exec:
    # Prefect's worker turns SIGTERM into a SIGINT to itself and would never end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent_pid:  # it died before we asked to be told
            return 1
    try:
        os.execvp(command[0], command)  # noqa: S606 - its whole purpose
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return UNKNOWN_COMMAND


if __name__ == "__main__":
    sys.exit(main(sys.argv))
