"""A disk that fills up under the ledger, and has room again: told, survived, and named as the reason."""

import resource
from pathlib import Path

import httpx
import pytest

from tests.fakes.prefect_api import FakePrefect
from tests.integration.ledger.desk import TokenByCall, capture, wait_until
from tests.integration.ledger.processes import ledger_process

pytestmark = pytest.mark.one_database

SITE = "http://127.0.0.2:8000"
BUDGET_S = 60


def test_level_under_a_full_disk_is_tried_again_once_there_is_room(tmp_path: Path, prefect: FakePrefect) -> None:
    """The limit on the size of the process's files is what a full disk is to SQLite: writes that fail, from now on."""
    settings = {
        "LEDGER_PREFECT_API_URL": prefect.url,
        "LEDGER_RECONCILE_EVERY_S": "0.2",
        "LEDGER_SILENCE_LIMIT_S": "1",
    }
    with (
        ledger_process(tmp_path, **settings) as (process, url),
        httpx.Client(
            base_url=url, auth=TokenByCall(tmp_path / "data" / "tokens"), trust_env=False, timeout=30
        ) as client,
    ):
        order = {"seeds": [f"{SITE}/"], "scripts": []}
        path = f"/api/crawls/{client.post('/api/crawls', json=order).json()['crawlId']}"
        wait_until(lambda: client.get(path).json()["lastRun"], "the level has a run", BUDGET_S)
        run_id = client.get(path).json()["lastRun"]["id"]
        prefect.set_state(run_id, "RUNNING")
        [page] = client.get(f"{path}/levels/0", params={"runId": run_id}).json()["frontier"]
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        result = capture(tmp_path / "store", path.rsplit("/", 1)[1], page, links=[])
        report = {"depth": 0, "attempt": 1, "runId": run_id, "results": [result]}
        refused = client.post(f"{path}/results", json=report)
        assert refused.status_code == 503, refused.text
        assert "full" in refused.json()["error"]
        assert "Retry-After" in refused.headers
        ready = client.get("/readyz")
        assert ready.status_code == 503
        [database] = [part for part in ready.json()["parts"] if part["name"] == "database"]
        assert "no writes" in database["problem"]
        assert "comity_ledger_database_unwritable 1.0" in client.get("/metrics").text
        assert client.get(path).json()["state"] == "running"  # what cannot be written is not claimed
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        wait_until(lambda: client.get("/readyz").status_code == 200, "there is room again", BUDGET_S)
        wait_until(lambda: client.get(path).json()["attempts"], "the silent attempt has ended", BUDGET_S)
        [attempt] = client.get(path).json()["attempts"][:1]
        assert "no sign of life" in attempt["reason"]
        assert "could not be written from" in attempt["reason"]
        assert client.post(f"{path}/results", json=report).json()["stop"] is True
        assert client.get(path).json()["state"] == "running"  # it is tried again
