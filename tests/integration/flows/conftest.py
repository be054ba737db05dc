"""One real Prefect for all tests of this folder, and the parts around a level."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from prefect import settings as prefect_settings

import flows.crawl_level
from blocks.init import BlockValues, init_blocks
from flows.rules.pacing import Pacing
from tests.fakes.compiler import FakeCompiler
from tests.fakes.endpoints import FakeEndpoint
from tests.fakes.ledger import TOKEN, FakeLedger
from tests.fakes.ports import free_port

FAST = Pacing(
    connect_timeout_ms=5_000,
    busy_wait_min_ms=10,
    busy_wait_max_ms=30,
    busy_budget_ms=2_000,
    unreachable_wait_ms=50,
    result_budget_ms=4_000,
    result_retry_ms=50,
    close_budget_ms=4_000,
    heartbeat_ms=200,
)


START_BUDGET_S = 300
"""At two minutes a server on a loaded machine was still importing."""


@dataclass(frozen=True)
class PrefectServer:
    """A Prefect server of these tests alone; `env` leads a process of ours to it."""

    url: str
    env: dict[str, str]

    def blocks(self) -> frozenset[tuple[str, str]]:
        """Every Block with when it was last written: one request, a twentieth of what reading them takes."""
        found = httpx.post(f"{self.url}/block_documents/filter", json={}, trust_env=False, timeout=60)
        return frozenset((one["id"], one["updated"]) for one in found.raise_for_status().json())


@pytest.fixture(scope="package")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A real Prefect server with an empty home; this process and its children speak to it."""
    home = tmp_path_factory.mktemp("prefect")
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    own = {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": url,
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "COMITY_ALLOW_PRIVATE": "127.0.0.0/8",  # where the hosts of these tests have their robots.txt
    }
    env = os.environ | own
    command = [sys.executable, "-m", "comity.cli.stack.prefect_server"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            _wait_for(url, process, home / "server.log")
            settings = {
                prefect_settings.PREFECT_HOME: home,
                prefect_settings.PREFECT_API_URL: url,
                prefect_settings.PREFECT_LOGGING_TO_API_ENABLED: False,
            }
            with prefect_settings.temporary_settings(settings):
                yield PrefectServer(url=url, env=env)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    ends_at = time.monotonic() + START_BUDGET_S
    with httpx.Client(trust_env=False, timeout=30) as client:
        while time.monotonic() < ends_at and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{url}/health").status_code == 200:
                    return
            time.sleep(0.1)
    pytest.fail(f"the Prefect server did not start: {log.read_text()[-2000:]}")


@dataclass
class Written:
    """What these tests last wrote into the Blocks, and the Blocks as they then were."""

    values: BlockValues | None = None
    blocks: frozenset[tuple[str, str]] = frozenset()


@dataclass
class Parts:
    """What a level talks to."""

    ledger: FakeLedger
    endpoints: list[FakeEndpoint]
    compiler: FakeCompiler
    prefect: PrefectServer
    written: Written

    def write_blocks(self, *, capture_urls: list[str] | None = None) -> None:
        """Blocks that lead to these parts."""
        values = BlockValues(
            ledger_url=self.ledger.url,
            ledger_token=TOKEN,
            ledger_trigger_token=TOKEN,
            ledger_tls_ca_pem="",
            capture_urls=capture_urls or [one.url for one in self.endpoints],
            capture_token="",
            capture_tls_ca_pem="",
            compiler_url=self.compiler.url,
            compiler_token="",
            compiler_tls_ca_pem="",
        )
        if (self.written.values, self.written.blocks) != (values, self.prefect.blocks()):  # writing takes a second
            init_blocks(values)
            self.written.values, self.written.blocks = values, self.prefect.blocks()


@pytest.fixture(scope="package")
def written() -> Written:
    return Written()


@pytest.fixture(scope="package")
def ports() -> list[int]:
    """The same for every test, so that the Blocks seldom change."""
    return [free_port() for _ in range(4)]


@pytest.fixture
def parts(
    prefect: PrefectServer, ports: list[int], written: Written, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Parts]:
    """A ledger, two capture servers and a compiler, named in the Blocks; budgets of milliseconds."""
    monkeypatch.setattr(flows.crawl_level, "PACING", FAST)
    monkeypatch.setenv("COMITY_ALLOW_PRIVATE", prefect.env["COMITY_ALLOW_PRIVATE"])
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(FakeLedger(port=ports[0]))
        endpoints = [stack.enter_context(FakeEndpoint(port=port)) for port in ports[1:3]]
        compiler = stack.enter_context(FakeCompiler(port=ports[3]))
        made = Parts(ledger, endpoints, compiler, prefect, written)
        made.write_blocks()
        yield made
