"""Files that are named on the command line, or standard input."""

import sys
from pathlib import Path

STDIN = "-"


def head_of(file: str, size_bytes: int) -> bytes:
    """So many bytes of the file at the most; of standard input where it is named `-`. Raises OSError, ValueError.

    Ask for one more than is allowed to see that there are too many: what is endless does not fill the memory.
    """
    if file == STDIN:
        return sys.stdin.buffer.read(size_bytes)
    with Path(file).open("rb") as opened:
        return opened.read(size_bytes)
