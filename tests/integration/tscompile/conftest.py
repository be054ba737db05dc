"""A real compiler service in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from comity.contract.scripts import sha256_of


def script(script_id: str, source: str, **more: Any) -> dict[str, Any]:
    """A script as `POST /compile` wants it."""
    return {
        "id": script_id,
        "version": 1,
        "phase": "behavior",
        "source": source,
        "sha256": sha256_of(source),
    } | more


@dataclass
class Service:
    """The running service: its process, and a client that knows its address."""

    process: subprocess.Popen[str]
    client: httpx.Client
    scratch: Path
    """Where it makes its temporary folders."""

    def compile(self, *scripts: dict[str, Any], **options: Any) -> httpx.Response:
        return self.client.post("/compile", json={"scripts": list(scripts)}, **options)

    def codes(self, *scripts: dict[str, Any]) -> list[tuple[str, int, str]]:
        """Diagnostics of a list that must not pass, as (file, line, code)."""
        answer = self.compile(*scripts)
        assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (422, "CompileFailed"), answer.text
        assert "scripts" not in answer.json()
        return [(each.get("file"), each.get("line"), each["code"]) for each in answer.json()["diagnostics"]]

    def javascript(self, *scripts: dict[str, Any]) -> list[str]:
        """JavaScript of a list that must pass."""
        answer = self.compile(*scripts)
        assert answer.status_code == 200, answer.text
        return [each["source"] for each in answer.json()["scripts"]]


def clean_environment(scratch: Path, **settings: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("TSCOMPILE_")}
    return own | {"TMPDIR": str(scratch)} | {f"TSCOMPILE_{name}": value for name, value in settings.items()}


@contextmanager
def running(**settings: str) -> Iterator[Service]:
    """Starts `python -m comity.tscompile` with these `TSCOMPILE_` settings and ends it with SIGTERM."""
    verify = settings.pop("verify", None)
    with tempfile.TemporaryDirectory(prefix="comity-test-") as name, Path(os.devnull).open("w") as nowhere:
        scratch = Path(name)
        process = subprocess.Popen(
            [sys.executable, "-m", "comity.tscompile"],
            env=clean_environment(scratch, **settings),
            stdout=subprocess.PIPE,
            stderr=nowhere,
            text=True,
        )
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first, "the service did not start"
            url = json.loads(first)["listening"]
            with httpx.Client(base_url=url, trust_env=False, timeout=60, verify=_trust(verify)) as client:
                yield Service(process, client, scratch)
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()
                process.communicate()


def _trust(certificate: str | None) -> Any:
    if certificate is None:
        return True
    import ssl

    return ssl.create_default_context(cafile=certificate)


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """One service on default settings, shared by the tests that only ask it things."""
    with running() as started:
        yield started


@pytest.fixture
def start() -> Callable[..., AbstractContextManager[Service]]:
    """For tests that need settings of their own."""
    return running
