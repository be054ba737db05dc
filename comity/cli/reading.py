"""Files that are named on the command line, or standard input."""

import sys
from pathlib import Path

from comity.cli.errors import BadInput

STDIN = "-"


def check_extractor(path: Path) -> None:
    """Raises BadInput where the path of an extractor leads to no file."""
    if path.is_dir():
        raise BadInput(f"{path}: is a folder, not a file; give the path of an extractor (.kdl)")
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file; give the path of an extractor (.kdl)")


def head_of(file: str, size_bytes: int) -> bytes:
    """So many bytes of the file at the most; of standard input where it is named `-`. Raises OSError, ValueError.

    Ask for one more than is allowed to see that there are too many: what is endless does not fill the memory.
    """
    if file == STDIN:
        return sys.stdin.buffer.read(size_bytes)
    with Path(file).open("rb") as opened:
        return opened.read(size_bytes)
