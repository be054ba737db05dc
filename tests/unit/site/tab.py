"""A tab of a real browser over its debugging protocol, just enough to see what the fixture web does to one."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from websockets.sync.client import connect
from websockets.sync.connection import Connection

BROWSER = os.environ.get("COMITY_BROWSER") or shutil.which("chromium-headless-shell") or "chromium"
WITHIN_S = 60.0

# What a question to a page is answered with when the page goes elsewhere before it has answered.
LEFT = "Inspected target navigated or closed"


class PageLeft(Exception):  # noqa: N818 (an event, not an error)
    """The page that was asked is gone; the one that follows it may answer."""


class Tab:
    """One page in a context of its own: no cookies, storage or cache of others."""

    def __init__(self, socket: Connection) -> None:
        self._socket = socket
        self._number = 0
        self._session: str | None = None
        context = self.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=WITHIN_S))
            if answer.get("id") == self._number:
                if answer.get("error", {}).get("message") == LEFT:
                    raise PageLeft
                assert "result" in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def value(self, expression: str) -> object:
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")

    def open(self, url: str, title: str) -> None:
        """Go there, and wait until a loaded page with that title shows."""
        self.call("Page.navigate", url=url)
        wait_for(lambda: self._shows(title))

    def _shows(self, title: str) -> bool:
        try:
            return self.value("document.readyState === 'complete' && document.title") == title
        except PageLeft:
            return False


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)


@contextmanager
def browser() -> Iterator[Connection]:
    """A browser with an empty profile, gone with its children when the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # A session of its own: what Debian installs is a shell script around the browser, and ending the script alone
        # leaves the browser and its children behind.
        process = subprocess.Popen(
            [BROWSER, *flags, "about:blank"], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            assert process.stderr is not None
            address = next(found[1] for line in process.stderr if (found := re.search(r"(ws://\S+)", line)))
            with connect(address, proxy=None) as socket:
                yield socket
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=WITHIN_S)
