"""Who holds a data folder, and what the supervisor says of its parts: a lock and a small file beside it."""

import fcntl
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from comity.cli.data_folder import DataFolder
from comity.cli.errors import AlreadyRunning

PartPhase = Literal["starting", "ready", "waiting", "failed", "stopped"]

LOCK_PATIENCE_S = 0.3
"""`comity status` holds the lock for a moment when it looks: not a reason to refuse a start."""


@dataclass(frozen=True)
class PartState:
    """`waiting`: died, and will be started again. `ready_after_s` since its last start."""

    phase: PartPhase
    pid: int | None = None
    restarts: int = 0
    ready_after_s: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class StackState:
    pid: int
    started_at: str
    data: str
    ready: bool
    addresses: dict[str, Any]
    parts: dict[str, PartState] = field(default_factory=dict)
    allow_private: str = ""
    """What may be visited besides the public web, as its parts were told."""

    def write(self, path: Path) -> None:
        """Replaces the file in one step: a reader sees the old or the new one."""
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n")
        draft.chmod(0o600)
        draft.replace(path)


def read_state(path: Path) -> StackState | None:
    """What the file says; None where there is none or it is not one of ours."""
    try:
        found = json.loads(path.read_text())
        parts = {name: PartState(**part) for name, part in found.pop("parts").items()}
        return StackState(**found, parts=parts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


class StackLock:
    """Held by the one supervisor of a data folder; the kernel drops it when that process ends, however it ends."""

    def __init__(self, data: DataFolder) -> None:
        """Takes the lock. Raises AlreadyRunning, saying who holds it and where that stack is reached."""
        self._file = data.lock.open("a+")
        deadline_s = time.monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline_s:
                    self._file.close()
                    raise AlreadyRunning(_who(data)) from None
                time.sleep(0.05)
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        self._file.close()


def _who(data: DataFolder) -> str:
    holder = "?"
    with suppress(OSError):
        holder = data.lock.read_text().strip() or "?"
    state = read_state(data.state)
    where = ""
    if state is not None and str(state.pid) == holder:
        where = f" (ledger {state.addresses.get('ledger')}, Prefect {state.addresses.get('prefectUi')})"
    return f"a stack runs on {data.root} already: pid {holder}{where}; use it, or end it with `comity down`"


def is_held(data: DataFolder) -> bool:
    """Whether a supervisor lives on the folder."""
    if not data.lock.exists():
        return False
    with data.lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def running_stack(data: DataFolder) -> StackState | None:
    """The state of the stack that runs on the folder, or None. Just after its start the state may still be missing."""
    return read_state(data.state) if is_held(data) else None
