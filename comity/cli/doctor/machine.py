"""Links of this machine: the data folder, its secrets and space, the browser, the TypeScript compiler, the parts."""

import os
import shutil
import stat
from pathlib import Path

from comity.capture.processes import NoBrowserError, find_browser
from comity.cli.data_folder import DataFolder
from comity.cli.stack.state import running_stack
from comity.tscompile.errors import CompilerMissing
from comity.tscompile.native import find_tsc
from flows.doctor_links import Link

LEAST_FREE_BYTES = 1024 * 1024 * 1024
"""A level of a few hundred pages fits; below, a crawl would end in failed writes."""


def look_at_machine(data: DataFolder) -> list[Link]:
    return [*_folder(data), _space(data), _browser(), _compiler(), *_parts(data)]


def _folder(data: DataFolder) -> list[Link]:
    if not data.root.is_dir():
        return [Link("data folder", False, f"{data.root} does not exist", f"comity up --data {data.root}")]
    links = [_private(data.root, "data folder", folder=True)]
    for name in ("flows", "operator", "trigger"):
        links.append(_private(data.ledger_token(name), f"ledger token {name}"))
    for name in ("prefect", "capture", "compiler"):
        links.append(_private(data.secrets / name, f"secret {name}"))
    wrong = [link for link in links if not link.ok]
    return wrong or [Link("data folder", True, f"{data.root}, its tokens for their owner alone")]


def _private(path: Path, name: str, *, folder: bool = False) -> Link:
    wanted = 0o700 if folder else 0o600
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        return Link(name, False, f"{path}: {error.strerror}", "comity up makes it; run this as the stack's user")
    if mode & 0o077:
        return Link(name, False, f"{path} has mode {mode:04o}: others may read it", f"chmod {wanted:o} {path}")
    if not os.access(path, os.R_OK | (os.W_OK | os.X_OK if folder else 0)):
        return Link(name, False, f"{path} cannot be used by this user", "run this as the stack's user")
    return Link(name, True, str(path))


def _space(data: DataFolder) -> Link:
    if not data.root.is_dir():
        return Link("disk space", False, f"{data.root} does not exist", f"comity up --data {data.root}")
    free_bytes = shutil.disk_usage(data.root).free
    said = f"{free_bytes / 2**30:.1f} GiB free"
    return Link("disk space", free_bytes >= LEAST_FREE_BYTES, said, "free at least 1 GiB, or choose another --data")


def _browser() -> Link:
    try:
        return Link("browser", True, find_browser(os.environ.get("COMITY_BROWSER")))
    except NoBrowserError as error:
        return Link("browser", False, str(error), "make setup")


def _compiler() -> Link:
    configured = os.environ.get("TSCOMPILE_TSC")
    try:
        return Link("TypeScript", True, str(find_tsc(Path(configured) if configured else None)))
    except CompilerMissing as error:
        return Link("TypeScript", False, str(error), "make setup")


def _parts(data: DataFolder) -> list[Link]:
    state = running_stack(data)
    if state is None:
        return [Link("stack", False, f"none runs on {data.root}", f"comity up --data {data.root}")]
    wrong = [
        Link(f"part {name}", False, f"{part.phase} {part.detail}".strip(), f"see {data.logs / name}.log")
        for name, part in state.parts.items()
        if part.phase != "ready"
    ]
    return wrong or [Link("stack", True, f"pid {state.pid}, {len(state.parts)} parts ready")]
