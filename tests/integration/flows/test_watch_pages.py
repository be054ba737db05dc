"""`watch-pages` as a deployment: a run visits pages with a real ledger, and gives all back when it is cancelled."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType

from blocks.init import BlockValues, init_blocks
from tests.e2e.watching import until, watched
from tests.integration.flows.conftest import PrefectServer
from tests.integration.flows.test_deployments import ROOT, _end, final, prefect_command, start
from tests.site import FixtureSite
from tests.site.changing import ChangingPage

pytestmark = [pytest.mark.prefect, pytest.mark.timeout(400)]
POOL = "comity-watchers"


@pytest.fixture
def pool(prefect: PrefectServer, tmp_path: Path) -> Iterator[None]:
    """The pool, the deployment, and a worker of Prefect's."""
    with contextlib.suppress(AssertionError):  # another module's tests made it
        prefect_command(prefect, "work-pool", "create", POOL, "--type", "process")
    prefect_command(prefect, "deploy", "--name", "watch-pages")
    env = prefect.env | {"PREFECT_WORKER_QUERY_SECONDS": "1", "COMITY_WATCH_LEARN_AFTER_MS": "0"}
    with (tmp_path / "worker.log").open("wb") as log:
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL]
        worker = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            _end(worker)


@pytest.mark.usefixtures("pool")
def test_run_visits_pages_until_it_is_cancelled_and_leaves_no_lease(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    with FixtureSite(hosts=3, crawl_delay={}) as site, watched(folder, site) as at:
        token = (folder / "data" / "tokens" / "flows").read_text().strip()
        capture = "http://127.0.0.1:9"
        init_blocks(
            BlockValues(
                ledger_url=at.url,
                ledger_token=token,
                ledger_trigger_token=token,
                ledger_tls_ca_pem="",
                capture_urls=[capture],
                capture_token="",
                capture_tls_ca_pem="",
                compiler_url=capture,
                compiler_token="",
                compiler_tls_ca_pem="",
            )
        )
        for host in range(3):
            site.set("/page", ChangingPage(("A page", "of two lines")), host=host)
        ids = at.add(*(site.url(host, "/page") for host in range(3)))
        run = start("watch-pages/watch-pages", concurrency=8)
        until(lambda: all(at.visits_of(one) >= 1 for one in ids), "every page is visited")
        with get_client(sync_client=True) as client:
            client.set_flow_run_state(run.id, State(type=StateType.CANCELLING))
        run = final(run)
        left = at.people.counts().visits

    assert run.state is not None
    assert run.state.is_cancelled(), run.state.message
    assert run.name == "watch pages"
    assert left.processing == 0
