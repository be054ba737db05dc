"""One embedded stack for all tests of this folder, as `comity up` starts it, and one fixture web per test."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from blocks.clients.errors import ServiceError
from blocks.clients.ledger import LedgerClient
from comity.contract.ledger import CrawlView, StartCrawl
from tests.site import FixtureSite

ROOT = Path(__file__).resolve().parents[2]
COMITY = str(Path(sys.executable).with_name("comity"))
CRAWLS_AT_ONCE = 3
PREFECT = str(Path(sys.executable).with_name("prefect"))


@dataclass
class Stack:
    """A running stack: its addresses, its data folder, and the ledger as an operator sees it."""

    process: subprocess.Popen[str]
    data: Path
    addresses: dict[str, Any]

    @cached_property
    def ledger(self) -> LedgerClient:
        """With the operator's token, as a person has it."""
        token = (self.data / "ledger" / "tokens" / "operator").read_text().strip()
        return LedgerClient(self.addresses["ledger"], token, "")

    def start(self, **wanted: Any) -> str:
        """Starts a crawl (camelCase keys as on the wire); its id."""
        return self.ledger.start_crawl(StartCrawl.model_validate(wanted)).crawl_id

    def finished(self, crawl_id: str, within_s: float = 240) -> CrawlView:
        """The crawl once it is over; AssertionError with what it was doing at the deadline."""
        deadline = time.monotonic() + within_s
        while True:
            if not self.is_running(crawl_id):
                return self.ledger.crawl(crawl_id)
            if time.monotonic() > deadline:
                raise AssertionError(f"still running after {within_s} s: {self.ledger.crawl(crawl_id)}")
            time.sleep(0.2)

    def is_running(self, crawl_id: str) -> bool:
        """Whether the crawl goes on; also while its ledger is away for a moment."""
        try:
            return self.ledger.crawl(crawl_id).state == "running"
        except ServiceError:
            return True

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment that `comity env` prints, over ours."""
        printed = subprocess.run(
            ["sh", "-c", f'eval "$({COMITY} env --data {self.data})" && env -0'],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        return dict(line.split("=", 1) for line in printed.split("\0") if "=" in line)

    def comity(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on this stack's data folder."""
        command = [COMITY, *arguments, "--data", str(self.data)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)

    def prefect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PREFECT, *arguments],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )


def start_stack(data: Path, browsers: int = 2, within_s: float = 300) -> Stack:
    """`comity up --json` on `data`, ready."""
    log = data.parent / f"{data.name}.up.log"
    with log.open("a") as sink:
        process = subprocess.Popen(
            [COMITY, "up", "--data", str(data), "--browsers", str(browsers), "--json"],
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            cwd=ROOT,
            env={
                **os.environ,
                "COMITY_DATA": str(data),
                "COMITY_ALLOW_PRIVATE": "127.0.0.0/8",
                "LEDGER_MAX_RUNNING_CRAWLS": str(CRAWLS_AT_ONCE),
                "LEDGER_WATCH_HOST_DELAY_MS": "500",
            },
        )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    deadline = time.monotonic() + within_s
    line = ""
    while not line.endswith("\n"):
        line += process.stdout.readline() or ""
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.stdout.close()
            raise AssertionError(f"comity up was not ready: {log.read_text()[-3000:]}")
        time.sleep(0.05)
    return Stack(process=process, data=data, addresses=json.loads(line))


def stop_stack(stack: Stack) -> None:
    stack.ledger.close()
    if stack.process.poll() is None:
        stack.process.terminate()
        stack.process.wait(90)
    assert stack.process.stdout is not None
    stack.process.stdout.close()


@pytest.fixture(scope="package")
def shared_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = start_stack(tmp_path_factory.mktemp("stack") / "data")
    yield running
    stop_stack(running)


@pytest.fixture
def stack(shared_stack: Stack) -> Iterator[Stack]:
    """The shared stack: two browsers. A crawl that a test left running is ended, and stands in no other's way."""
    yield shared_stack
    for crawl in shared_stack.ledger.crawls().crawls:
        if crawl.state == "running":
            shared_stack.ledger.cancel(crawl.id)
            shared_stack.finished(crawl.id)


@pytest.fixture
def site() -> Iterator[FixtureSite]:
    with FixtureSite(hosts=6) as running:
        yield running
