"""A temporary folder of this process's own, so that a kill leaves nothing behind for good."""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "comity-capture-"
_OWNED = re.compile(rf"{PREFIX}(\d+)-")


@contextlib.contextmanager
def own_scratch() -> Iterator[Path]:
    """Everything temporary goes below it (`tempfile` is told), and it is removed at the end.

    What capture servers left that were killed is removed first: browser profiles, and bodies on their way to an
    archive. A folder is one of those when the process that its name carries is gone.
    """
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{PREFIX}*"):
        named = _OWNED.match(left.name)
        if named is not None and not _lives(int(named[1])):
            shutil.rmtree(left, ignore_errors=True)  # another user's stays, and says nothing
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=place))
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's process, or a pid beyond the kernel's: not ours to judge
    return True
