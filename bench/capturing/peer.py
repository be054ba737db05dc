"""The same page through `brozzle-page` with `warcprox`, as people use them, where they are installed.

`pip install brozzler warcprox` in an environment of their own, which `COMITY_PEERS` names (its `bin` folder), or whose
programs are on PATH. Process start is included, as it is for whoever types the command.
"""

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import time
from pathlib import Path

from comity.capture.processes import find_browser

BUDGET_S = 180
LISTENS_BUDGET_S = 20
SETTING = "COMITY_PEERS"


class NotMeasuredError(Exception):
    """Why there is no number."""


def peer_s(url: str, folder: Path) -> float:
    """Seconds for one page. Raises NotMeasuredError where they are not installed, or kept nothing of it."""
    brozzle, warcprox = (shutil.which(name, path=_path()) for name in ("brozzle-page", "warcprox"))
    if brozzle is None or warcprox is None:
        raise NotMeasuredError(f"brozzle-page and warcprox are neither on PATH nor in {SETTING}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [warcprox, "--address", "127.0.0.1", "--port", str(port), "--dir", str(folder / "warcs")]
    with (folder / "warcprox.log").open("wb") as log:
        proxy = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _await_listening(port)
        arguments = [brozzle, "--chrome-exe", str(_browser(folder)), "--proxy", f"127.0.0.1:{port}", url]
        started_s = time.perf_counter()
        done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False, timeout=BUDGET_S)
        took_s = time.perf_counter() - started_s
    except subprocess.TimeoutExpired:
        raise NotMeasuredError(f"brozzle-page took longer than {BUDGET_S} s") from None
    finally:
        proxy.terminate()
        proxy.wait(20)
    kept = b"".join(path.read_bytes() for path in (folder / "warcs").glob("*.warc*"))
    if done.returncode != 0 or not kept:
        raise NotMeasuredError(f"brozzle-page kept nothing: {done.stderr.decode(errors='replace')[-300:]}")
    return took_s


def _browser(folder: Path) -> Path:
    """The browser that we use, in a script of a few flags: root's has no sandbox, and our site is on loopback."""
    script = folder / "browser"
    flags = ["--proxy-bypass-list=<-loopback>", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    program = find_browser(os.environ.get("COMITY_BROWSER"))
    script.write_text(f'#!/bin/sh\nexec {shlex.join([program, *flags])} "$@"\n')
    script.chmod(0o700)
    return script


def _path() -> str:
    return os.pathsep.join(filter(None, (os.environ.get(SETTING), os.environ.get("PATH"))))


def _await_listening(port: int) -> None:
    deadline_s = time.monotonic() + LISTENS_BUDGET_S
    while time.monotonic() < deadline_s:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise NotMeasuredError("warcprox did not listen")
