"""`prefect.yaml` as deployed by Prefect's own command, run by Prefect's own workers on pools made by hand."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events import emit_event

from tests.fakes.endpoints import FakeEndpoint, slow
from tests.fakes.http_server import Asked, Reply
from tests.fakes.ledger import CRAWL, TOKEN, crawl_view, work_order
from tests.integration.flows.conftest import Parts, PrefectServer

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
POOLS = ("comity-levels", "comity-extractions", "comity-triggers", "comity-watchers")
T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, budget_s: float = 120) -> T:
    """What `look` finds, as soon as it does."""
    ends_at = time.monotonic() + budget_s
    while time.monotonic() < ends_at:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    pytest.fail(f"{what}: not within {budget_s} s")


def prefect_command(server: PrefectServer, *arguments: str) -> str:
    """What a `prefect` command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
        cwd=ROOT,
        env=server.env,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def deployed(prefect: PrefectServer) -> PrefectServer:
    """The pools made by hand, and everything of `prefect.yaml`."""
    for pool in POOLS:
        prefect_command(prefect, "work-pool", "create", pool, "--type", "process")
    prefect_command(prefect, "deploy", "--all")
    return prefect


@pytest.fixture(scope="module")
def worker(deployed: PrefectServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A worker for each pool, in a folder that holds nothing of ours."""
    folder = tmp_path_factory.mktemp("worker")
    env = deployed.env | {"PREFECT_WORKER_QUERY_SECONDS": "1"}
    with contextlib.ExitStack() as stack:
        for pool in POOLS:
            log = stack.enter_context((folder / f"{pool}.log").open("wb"))
            command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool]
            process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            stack.callback(_end, process)
        yield


def _end(process: "subprocess.Popen[bytes]") -> None:
    """At once: there is nothing that it has to finish."""
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def start(deployment: str, **parameters: Any) -> FlowRun:
    """A run of a deployment, as the ledger or the UI creates it."""
    with get_client(sync_client=True) as client:
        found = client.read_deployment_by_name(deployment)
        return client.create_flow_run_from_deployment(found.id, parameters=parameters)


def final(run: FlowRun) -> FlowRun:
    """The run when it is over."""

    def over() -> FlowRun | None:
        with get_client(sync_client=True) as client:
            seen = client.read_flow_run(run.id)
        return seen if seen.state is not None and seen.state.is_final() else None

    return until(over, f"run {run.name} ends")


def process_of(run: FlowRun) -> psutil.Process:
    """The process that the flow runs in."""

    def find() -> psutil.Process | None:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.environ().get("PREFECT__FLOW_RUN_ID") == str(run.id):
                    return process
        return None

    return until(find, "the run's process")


def _parameters(deployment: DeploymentResponse) -> dict[str, Any]:
    """What the UI's form is made from."""
    found = (deployment.parameter_openapi_schema or {})["properties"]
    assert isinstance(found, dict)
    return found


def test_deploy_registers_levels_triggers_and_the_nightly_with_pools_schedule_and_event(
    deployed: PrefectServer,
) -> None:
    with get_client(sync_client=True) as client:
        found = {one.name: one for one in client.read_deployments()}
        automations = client.request("POST", "/automations/filter", json={}).json()

    pools = {
        "crawl-level": "comity-levels",
        "extract-pages": "comity-extractions",
        "trigger-crawl": "comity-triggers",
        "nightly": "comity-triggers",
        "watch-pages": "comity-watchers",
    }
    assert {name: found[name].work_pool_name for name in pools} == pools
    assert all(one.description and not one.pull_steps for one in found.values())
    [schedule] = found["nightly"].schedules
    assert schedule.schedule.timezone == "Europe/Berlin"  # type: ignore[union-attr]
    assert found["nightly"].parameters == {"from_targets": True}
    described = _parameters(found["trigger-crawl"])
    assert all(field.get("description") for field in described.values()), described
    assert set(_parameters(found["crawl-level"])) == {"crawl_id", "depth", "attempt"}
    assert set(_parameters(found["extract-pages"])) == {"crawl_id", "number"}
    [automation] = [one for one in automations if one["enabled"]]
    assert automation["trigger"]["expect"] == ["comity.crawl.requested"]


def test_level_runs_on_the_pool_and_completes(worker: None, parts: Parts) -> None:
    parts.ledger.order = work_order(["http://a.test/"])

    run = final(start("crawl-level/crawl-level", crawl_id=CRAWL, depth=0))

    assert run.state is not None
    assert run.state.is_completed(), run.state.message
    assert run.name == f"{CRAWL} level 0 attempt 1"
    assert [one.status for one in parts.ledger.results] == ["captured"]


def test_cancelled_run_hangs_up_and_tells_the_ledger(worker: None, parts: Parts) -> None:
    with FakeEndpoint([slow(120)]) as endpoint:
        parts.write_blocks(capture_urls=[endpoint.url])
        parts.ledger.order = work_order([f"http://h{host}.test/" for host in range(3)])
        run = start("crawl-level/crawl-level", crawl_id=CRAWL, depth=0)
        until(lambda: endpoint.captures, "a capture")
        asked_at = time.monotonic()
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(run.id, State(type=StateType.CANCELLING))
        until(lambda: endpoint.hung_up, "the capture is hung up")
        hung_up_after = time.monotonic() - asked_at
        run = final(run)
        told = until(lambda: parts.ledger.failures, "the ledger is told")

    print(f"hung up {hung_up_after:.1f} s after the cancellation was asked for")
    assert hung_up_after < 120  # what the page itself would take
    assert run.state is not None
    assert run.state.is_cancelled()
    assert {one.outcome for one in told} == {"cancelled"}
    assert told[0].reason.startswith("[run] cancelled: ")
    assert told[0].run_id == str(run.id)


def test_killed_flow_is_told_by_the_worker(worker: None, parts: Parts) -> None:
    with FakeEndpoint([slow(120)]) as endpoint:
        parts.write_blocks(capture_urls=[endpoint.url])
        parts.ledger.order = work_order(["http://a.test/"])
        run = start("crawl-level/crawl-level", crawl_id=CRAWL, depth=0)
        until(lambda: endpoint.captures, "a capture")
        os.kill(process_of(run).pid, signal.SIGKILL)
        told = until(lambda: parts.ledger.failures, "the ledger is told")

    assert [one.outcome for one in told] == ["crashed"]
    assert told[0].reason.startswith("[run] crashed: ")


def test_event_starts_a_crawl_with_parameters_of_their_types(worker: None, parts: Parts) -> None:
    started: list[Asked] = []

    def take(asked: Asked) -> Reply:
        started.append(asked)
        return Reply(202, {"crawlId": CRAWL})

    parts.ledger.answers["POST /crawls"] = take
    parts.ledger.answers[f"GET /{CRAWL}"] = lambda asked: Reply(200, crawl_view("succeeded"))

    seeds = ["http://a.test/", 'http://b.test/?x="1"']
    emit_event(
        "comity.crawl.requested",
        resource={"prefect.resource.id": "test.comity"},
        payload={
            "seeds": seeds,
            "max_depth": 1,
            "per_host_delay_ms": 5,
            "extractors": [{"id": "facts", "urlPattern": "^http"}],
        },
    )
    [asked] = until(lambda: started, "a crawl is started")

    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["idempotency-key"]
    assert asked.body["seeds"] == seeds
    assert (asked.body["maxDepth"], asked.body["perHostDelayMs"], asked.body["maxPages"]) == (1, 5, 30)
    assert "fromTargets" not in asked.body
    assert asked.body["extractors"] == [{"id": "facts", "urlPattern": "^http"}]
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(asked.headers["idempotency-key"])  # type: ignore[arg-type]
    run = final(run)
    assert run.state is not None
    assert run.state.is_completed(), run.state.message
    assert f"crawl:{CRAWL}" in run.tags


def test_cancelled_trigger_cancels_its_crawl(worker: None, parts: Parts) -> None:
    parts.ledger.answers["POST /crawls"] = lambda asked: Reply(202, {"crawlId": CRAWL})
    parts.ledger.answers[f"GET /{CRAWL}"] = lambda asked: Reply(200, crawl_view("running"))
    parts.ledger.answers["POST /cancel"] = lambda asked: Reply(202, {})

    run = start("trigger-crawl/trigger-crawl", seeds=["http://a.test/"])
    until(lambda: parts.ledger.of("GET", f"/{CRAWL}"), "the trigger waits for its crawl")
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, State(type=StateType.CANCELLING))
    [asked] = until(lambda: parts.ledger.of("POST", "/cancel"), "the crawl is cancelled")
    run = final(run)

    assert asked.path == f"/api/crawls/{CRAWL}/cancel"
    assert run.state is not None
    assert run.state.is_cancelled()
    assert run.name == "crawl of http://a.test/"
