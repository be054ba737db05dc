"""`--session FILE|-`: headers and cookies, out of a file that nobody else can read."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from comity.cli.errors import BadInput
from comity.extract import Session

MAX_SESSION_BYTES = 256 * 1024
_SHAPE = 'it must be {"headers": {"Name": "value"}, "cookies": {"name": "value"}}, either of them may be left out'


def read_session(source: str) -> Session:
    """The session in a file, or on standard input for `-`. Raises BadInput; no message quotes a value."""
    where = "--session: standard input" if source == "-" else f"--session {source}"
    data = sys.stdin.buffer.read(MAX_SESSION_BYTES + 1) if source == "-" else _private_file(Path(source))
    if len(data) > MAX_SESSION_BYTES:
        raise BadInput(f"{where}: over {MAX_SESSION_BYTES} bytes, which is no session")
    try:
        found = json.loads(data)
    except ValueError:  # whose text would quote what was read
        raise BadInput(f"{where}: is not JSON; {_SHAPE}") from None
    if not isinstance(found, dict) or set(found) - {"headers", "cookies"}:
        raise BadInput(f"{where}: {_SHAPE}")
    return Session(headers=_texts(found, "headers", where), cookies=_texts(found, "cookies", where))


def _private_file(path: Path) -> bytes:
    """The file's bytes. What is read is the very file whose mode was looked at."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(f"--session {path}: is not a plain file; give one, or - for standard input")
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                mode = f"{stat.S_IMODE(status.st_mode):04o}"
                raise BadInput(f"--session {path}: others can read or change it (mode {mode}); chmod 600 {path}")
            return file.read(MAX_SESSION_BYTES + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"--session {path}: cannot be read ({said})") from None


def _texts(found: dict[str, Any], name: str, where: str) -> dict[str, str]:
    held = found.get(name, {})
    if not isinstance(held, dict) or not all(isinstance(value, str) for value in held.values()):
        raise BadInput(f"{where}: {name}: {_SHAPE}")
    return held
