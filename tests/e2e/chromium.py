"""A browser of the tests' own: the other end from which replayed pages are looked at. Not the one under test."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.sync.client import connect
from websockets.sync.connection import Connection

BROWSERS = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")

# What a question to a page is answered with when the page goes elsewhere before it has answered.
LEFT = ("Inspected target navigated or closed", "Cannot find context with specified id")


class PageLeft(Exception):  # noqa: N818 (an event, not an error)
    """The page that was asked is gone; the one that follows it may answer."""


def browser_path() -> str:
    named = os.environ.get("COMITY_BROWSER")
    found = named or next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no browser: make setup installs one, or set COMITY_BROWSER")
    return found


class Tab:
    """One tab over raw CDP, one call at a time."""

    def __init__(self, socket: Connection, session_id: str, target_id: str) -> None:
        self._socket = socket
        self._session_id = session_id
        self._target_id = target_id
        self._next_id = 100

    def call(self, method: str, timeout_s: float = 20, **params: Any) -> dict[str, Any]:
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params, "sessionId": self._session_id}
        return _call(self._socket, message, timeout_s)

    def evaluate(self, expression: str, timeout_s: float = 60) -> Any:
        answer = self.call("Runtime.evaluate", timeout_s, expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"in the page: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout_s: float = 90) -> Any:
        """Polls until the expression is truthy; AssertionError with the page's text at the deadline."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            with suppress(PageLeft):
                if value := self.evaluate(expression):
                    return value
            time.sleep(0.1)
        text = self.evaluate("document.documentElement.outerHTML.slice(0, 1500)")
        raise AssertionError(f"not within {timeout_s} s: {expression}; the page: {text}")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(self.picture())

    def picture(self, clip: dict[str, Any] | None = None) -> bytes:
        """What the window shows as PNG, or the part of it in `clip` (`x`, `y`, `width`, `height`, CSS pixels)."""
        # Two frames later, what was just scrolled to is drawn.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        part: dict[str, Any] = {} if clip is None else {"clip": {**clip, "scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **part)["data"])


def _call(socket: Connection, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    socket.send(json.dumps(message))
    deadline = time.monotonic() + timeout_s
    while True:
        answer = json.loads(socket.recv(timeout=max(0.01, deadline - time.monotonic())))
        if answer.get("id") == message["id"]:
            if answer.get("error", {}).get("message") in LEFT:
                raise PageLeft
            if "error" in answer:
                raise AssertionError(f"{message['method']}: {answer['error']}")
            result: dict[str, Any] = answer["result"]
            return result


@contextmanager
def open_tab(url: str, width: int = 1280, height: int = 900) -> Iterator[Tab]:
    """A tab at `url` in a fresh browser with a profile of its own; everything is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="comity-test-browser-") as profile:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        process = subprocess.Popen(
            [
                browser_path(),
                "--headless",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                *flags,
                "about:blank",
            ],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with connect(_endpoint(Path(profile), process), max_size=None) as socket:
                create = {"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}
                target = _call(socket, create, 20)["targetId"]
                attach = {
                    "id": 2,
                    "method": "Target.attachToTarget",
                    "params": {"targetId": target, "flatten": True},
                }
                tab = Tab(socket, _call(socket, attach, 20)["sessionId"], target)
                tab.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width,
                    height=height,
                    deviceScaleFactor=1,
                    mobile=False,
                )
                tab.call("Page.navigate", url=url)
                yield tab
        finally:
            # The browser itself may be the child of a shell script that bears its name: the whole group goes.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


def _endpoint(profile: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 60
    port_file = profile / "DevToolsActivePort"
    while time.monotonic() < deadline:
        if port_file.exists() and len(lines := port_file.read_text().splitlines()) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        if process.poll() is not None:
            raise AssertionError(f"the tests' browser ended with {process.returncode}")
        time.sleep(0.02)
    raise AssertionError("the tests' browser did not start within 60 s")
