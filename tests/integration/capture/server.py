"""A real capture server in a process of its own, as a test holds it."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import httpx
import psutil

START_S = 90.0
END_S = 30.0
"""What a loaded machine needs. Undisturbed a server ends within 5 s."""


def until(holds: Callable[[], Any], within_s: float = 60.0) -> bool:
    """Polls until `holds()` is true; False once the time has passed."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return bool(holds())


def script(script_id: str, source: str, **options: Any) -> dict[str, Any]:
    """A page script with its right hash."""
    digest = hashlib.sha256(source.encode("utf-8")).hexdigest()
    return {"id": script_id, "source": source, "sha256": digest, "options": options}


def request(url: str, *formats: str, **settings: Any) -> dict[str, Any]:
    """A capture request for these formats (default: wacz)."""
    wanted = formats or ("wacz",)
    named = {name: name in wanted for name in ("png", "webp", "html", "links", "mhtml", "wacz")}
    quick = {"minMs": 0, "maxMs": 3000, "quietMs": 150, "networkConcurrency": 0}
    return {"url": url, "captureFormats": named, "loadWait": quick} | settings


def path_of(location: str) -> Path:
    """The file of a `file:///` location."""
    return Path(unquote(urlsplit(location).path))


class CaptureServer:
    """`with CaptureServer(store) as server:` runs one until the block ends. `environment` sets it; empty: unset."""

    def __init__(self, store: Path, **environment: str) -> None:
        self.store = store
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CAPTURE_")},
            "CAPTURE_STORE": str(store),
            "CAPTURE_PORT": "0",
            "COMITY_ALLOW_PRIVATE": "127.0.0.0/8",  # where the fixture web lives
            **environment,
        }
        self._environment = {name: value for name, value in self._environment.items() if value}
        self.url = ""
        self.headers: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None

    @property
    def log(self) -> Path:
        """What the server wrote to standard error."""
        return self.store.parent / "capture.log"

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def __enter__(self) -> Self:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "comity.capture"],
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.url = json.loads(line)["listening"]
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> float:
        """SIGTERM, and how long it took to end."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(END_S + 5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(END_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return time.monotonic() - started

    def post(self, body: dict[str, Any] | bytes, *, timeout_s: float = 60.0) -> httpx.Response:
        """`POST /captures`."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8")
        with httpx.Client(trust_env=False, timeout=timeout_s, headers=self.headers) as client:
            return client.post(f"{self.url}/captures", content=content)

    def get(self, path: str) -> httpx.Response:
        """`GET path`."""
        with httpx.Client(trust_env=False, timeout=60, headers=self.headers) as client:
            return client.get(f"{self.url}{path}")

    def capture(self, url: str, *formats: str, **settings: Any) -> dict[str, Any]:
        """The report of a capture; its manifest must say the same."""
        response = self.post(request(url, *formats, **settings))
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        manifest: dict[str, Any] = json.loads(path_of(answer["manifest"]["location"]).read_bytes())
        assert manifest == answer["report"]
        return manifest

    def manifests(self) -> list[dict[str, Any]]:
        """Every manifest in the store."""
        return [json.loads(path.read_bytes()) for path in self.store.glob("[0-9]*/*/*/*.result.json")]

    def descendants(self) -> list[psutil.Process]:
        """The browser and its children, as long as the server lives."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def browser(self) -> psutil.Process:
        """The browser's main process: the one among our descendants whose parent is the server."""
        return psutil.Process(self.process.pid).children()[0]
