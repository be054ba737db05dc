"""What the embedded Prefect server needs before its workers start: pools, Blocks, deployments, and no run of the dead.

Imports Prefect: for the workers' process, never for the command itself.
"""

import contextlib
import hashlib
import io
import json
import sys
import time
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import prefect
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.states import Crashed
from prefect.workers.process import ProcessWorker

from comity.cli.errors import StackError

POOLS: Mapping[str, str] = {
    "comity-levels": "Flow runs that crawl: one level of a crawl each.",
    "comity-extractions": "Flow runs that extract from captured pages; apart, for they keep a processor busy.",
    "comity-triggers": "Flow runs that start crawls and see them through; apart, so that they never hold a level up.",
    "comity-watchers": "Flow runs that visit watched pages for as long as they live; apart, for they never make room.",
}
RUN_MODULE = "flows.engine"
"""What the process of a flow run is started as."""
API_BUDGET_S = 200.0
UNFINISHED = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]


def wait_for_api(budget_s: float = API_BUDGET_S) -> SyncPrefectClient:
    """A client of the API that the environment names, once it answers. Raises StackError after the budget."""
    client = get_client(sync_client=True)
    deadline_s = time.monotonic() + budget_s
    while True:
        problem = client.api_healthcheck()
        if problem is None:
            return client
        if time.monotonic() > deadline_s:
            raise StackError(f"Prefect at {client.api_url} did not answer within {budget_s:.0f} s: {problem}")
        time.sleep(0.2)


def job_template(root: Path) -> dict[str, Any]:
    """How a worker of ours starts a flow run: this Python, in the folder that holds the flows, output kept in Prefect.

    `stream_output` off: with it on, a worker that is killed takes the pipe along, and a healthy run dies of it. A
    command and a working directory instead of a pull step: 1.7 s less from a run's creation to its first line.
    """
    template = deepcopy(ProcessWorker.get_default_base_job_template())
    properties = template["variables"]["properties"]
    properties["command"]["default"] = f"{sys.executable} -m {RUN_MODULE}"
    properties["working_dir"]["default"] = str(root)
    properties["stream_output"]["default"] = False
    return template


def keep_pools(client: SyncPrefectClient, root: Path) -> None:
    """Creates the work pools, or brings their template up to date."""
    template = job_template(root)
    for name, description in POOLS.items():
        try:
            pool = client.read_work_pool(name)
        except ObjectNotFound:
            with contextlib.suppress(ObjectAlreadyExists):  # a first try of Prefect's client, whose answer was lost
                client.create_work_pool(
                    WorkPoolCreate(name=name, type="process", description=description, base_job_template=template)
                )
            continue
        if pool.base_job_template != template:
            client.update_work_pool(name, WorkPoolUpdate(base_job_template=template))


def close_orphaned_runs(client: SyncPrefectClient, alive: set[str]) -> int:
    """Runs that are unfinished by Prefect's book while no process is at them become Crashed. Returns how many."""
    unfinished = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=UNFINISHED)))
    closed = 0
    while True:
        runs = [run for run in client.read_flow_runs(flow_run_filter=unfinished, limit=200) if str(run.id) not in alive]
        for run in runs:
            client.set_flow_run_state(
                run.id, Crashed(message="The process that was at this run ended without a word."), force=True
            )
        closed += len(runs)
        if not runs:
            return closed


def deploy(client: SyncPrefectClient, root: Path, kept: Path) -> str:
    """Registers what `prefect.yaml` declares, with Prefect's own command; skipped while nothing changed since.

    `kept` remembers what was deployed. Returns one line for the log. Raises StackError with the command's last words.
    """
    fingerprint = deployed_fingerprint(root)
    before = _read(kept)
    names = _deployment_names(client)
    if before.get("fingerprint") == fingerprint and before.get("names") and set(before["names"]) <= names:
        return f"deployments unchanged: {', '.join(sorted(before['names']))}"
    status, said = _prefect_command(root, "--no-prompt", "deploy", "--all")
    names = _deployment_names(client)
    if status != 0 or not names:
        raise StackError(f"prefect deploy --all failed ({status}): {said[-3000:]}")
    kept.write_text(json.dumps({"fingerprint": fingerprint, "names": sorted(names)}))
    return f"deployed: {', '.join(sorted(names))}"


def _prefect_command(root: Path, *arguments: str) -> tuple[int, str]:
    """Prefect's own command in this process: exit status and what it printed.

    A process of its own would spend two seconds on importing what is here already.
    """
    from prefect.cli import app  # a server that has its deployments needs none of it

    printed = io.StringIO()
    argv, sys.argv = sys.argv, ["prefect", *arguments]
    try:
        with contextlib.chdir(root), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            app()
    except SystemExit as end:
        return (end.code if isinstance(end.code, int) else int(end.code is not None)), printed.getvalue()
    finally:
        sys.argv = argv
    return 0, printed.getvalue()


def deployed_fingerprint(root: Path) -> str:
    """Changes when a deployment could: `prefect.yaml`, the flows' sources, Prefect itself, and where all that lies."""
    digest = hashlib.sha256(f"{prefect.__version__}\n{sys.executable}\n{root}\n".encode())
    for path in [root / "prefect.yaml", *sorted((root / "flows").rglob("*.py"))]:
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes() if path.exists() else b"absent")
    return digest.hexdigest()


def _deployment_names(client: SyncPrefectClient) -> set[str]:
    flows: dict[Any, str] = {}
    names = set()
    for deployment in client.read_deployments(limit=200):
        if deployment.flow_id not in flows:
            flows[deployment.flow_id] = client.read_flow(deployment.flow_id).name
        names.add(f"{flows[deployment.flow_id]}/{deployment.name}")
    return names


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def wait_for_ledger(url: str, token_file: Path | None, budget_s: float = 60.0) -> None:
    """Until the ledger answers and has made its tokens: they go into a Block."""
    deadline_s = time.monotonic() + budget_s
    with httpx.Client(trust_env=False, timeout=2) as client:
        while time.monotonic() < deadline_s:
            try:
                if client.get(f"{url}/healthz").status_code == httpx.codes.OK and (
                    token_file is None or token_file.exists()
                ):
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
    raise StackError(f"the ledger at {url} did not answer within {budget_s:.0f} s, or wrote no token to {token_file}")
