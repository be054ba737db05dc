"""The same links, seen from a flow run on the pool: runs the deployment `doctor/doctor` and reads its table."""

import json
import time
import uuid
from typing import Any

from comity.cli.doctor.prefect_side import DOCTOR, TROUBLE, PrefectSide, is_missing, trouble_link
from flows.doctor_links import Link

RUN_BUDGET_S = 180.0
ARTIFACT_KEY = "comity-doctor"
OVER = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


def look_from_pool(prefect: PrefectSide) -> list[Link]:
    """The run itself, then each link that it saw. A run that does not get to its end is the one failed link."""
    name = "flow run on the pool"
    try:
        deployment = prefect.ask("GET", f"/deployments/name/{DOCTOR}")
        wanted = {"state": {"type": "SCHEDULED"}, "idempotency_key": f"doctor:{uuid.uuid4()}"}
        run_id = prefect.ask("POST", f"/deployments/{deployment['id']}/create_flow_run", wanted)["id"]
        began_s = time.monotonic()
        state = _wait(prefect, run_id)
        if state["type"] not in OVER:
            prefect.ask("POST", f"/flow_runs/{run_id}/set_state", {"state": {"type": "CANCELLING"}, "force": True})
            said = f"still {state['name']} after {RUN_BUDGET_S:.0f} s"
            return [Link(name, False, said, "see whether the pool's worker is online and what else it runs")]
        links = _seen(prefect, run_id)
    except TROUBLE as error:
        if is_missing(error):
            return [Link(name, False, f"{DOCTOR} is not deployed", "prefect deploy --all")]
        return [trouble_link(name, error)]
    if not links:
        return [Link(name, False, f"{state['name']}: {state.get('message') or 'no message'}", "see the run in Prefect")]
    return [Link(name, True, f"{state['name']} after {time.monotonic() - began_s:.0f} s"), *links]


def _wait(prefect: PrefectSide, run_id: str) -> dict[str, Any]:
    deadline_s = time.monotonic() + RUN_BUDGET_S
    while True:
        state: dict[str, Any] = prefect.ask("GET", f"/flow_runs/{run_id}")["state"]
        if state["type"] in OVER or time.monotonic() > deadline_s:
            return state
        time.sleep(0.5)


def _seen(prefect: PrefectSide, run_id: str) -> list[Link]:
    asked = {"artifacts": {"flow_run_id": {"any_": [run_id]}, "key": {"any_": [ARTIFACT_KEY]}}}
    found = prefect.ask("POST", "/artifacts/filter", asked)
    if not found:
        return []
    rows = found[0]["data"]
    rows = json.loads(rows) if isinstance(rows, str) else rows
    return [Link(f"from the pool: {row['name']}", row["ok"], row["said"], row["fix"]) for row in rows]
