"""Machines of a small network, as network namespaces on a bridge: needs root and `ip`."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = "comity-br0"
SERVICES = "10.213.0.1"
"""The first machine, which is this one: ledger, compiler, Prefect server."""
SITE_NETWORK = "10.213.1"
STARTS_WITHIN_S = 90.0


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True, timeout=20)


class Machine:
    """One network namespace with a cable to the bridge. Number 2 has the address 10.213.0.2."""

    def __init__(self, number: int) -> None:
        self.name = f"comity-m{number}"
        self.address = f"10.213.0.{number}"
        self._cable = f"comity-c{number}"
        _ip("netns", "add", self.name)
        _ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        _ip("link", "set", self._cable, "master", BRIDGE, "up")
        for command in (
            ("addr", "add", f"{self.address}/16", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", self.name, *command)

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """The cable is pulled until the block ends."""
        _ip("link", "set", self._cable, "down")
        try:
            yield
        finally:
            _ip("link", "set", self._cable, "up")

    def remove(self) -> None:
        _ip("netns", "del", self.name, check=False)
        _ip("link", "del", self._cable, check=False)


@contextmanager
def network(sites: int, machines: int) -> Iterator[list[Machine]]:
    """The bridge with the services' address and those of the sites, and so many machines; all gone afterwards."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command `ip`")
    made: list[Machine] = []
    try:
        try:
            _ip("link", "add", BRIDGE, "type", "bridge")
            _ip("addr", "add", f"{SERVICES}/16", "dev", BRIDGE)
            _ip("link", "set", BRIDGE, "up")
            made.append(Machine(2))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
        for index in range(sites):
            _ip("addr", "add", f"{SITE_NETWORK}.{index + 2}/16", "dev", BRIDGE)
        made += [Machine(number) for number in range(3, machines + 2)]
        yield made
    finally:
        for machine in made:
            machine.remove()
        _ip("link", "del", BRIDGE, check=False)


class Services:
    """Processes of a deployment, each with its log; ended together."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        logs.mkdir()
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, module: str, *arguments: str, env: Mapping[str, str], on: Machine | None = None) -> None:
        """`python -m module arguments`, here or on another machine. Nothing of our own environment but the PATH."""
        command = [sys.executable, "-m", module, *arguments]
        if on is not None:
            command = ["ip", "netns", "exec", on.name, *command]
        with (self._logs / f"{name}.log").open("ab") as log:
            self._running.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={"PATH": os.environ["PATH"], "HOME": str(self._logs), "PYTHONUNBUFFERED": "1", **env},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def end(self) -> None:
        for process in reversed(self._running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 15
        for process in self._running:
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait(5)

    def log(self, name: str) -> str:
        return (self._logs / f"{name}.log").read_text(errors="replace")


def wait_until(holds: Callable[[], bool], what: str, within_s: float = STARTS_WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.2)
