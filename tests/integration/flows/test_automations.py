"""The automation that ends silent runs: made once, kept up to date, and it does what it says."""

import time
from collections.abc import Iterator

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.states import Running

from flows.automations import NAME, keep_heartbeat_automation
from tests.integration.flows.conftest import PrefectServer
from tests.integration.flows.test_deployments import until

pytestmark = pytest.mark.prefect

SIGN_EVERY_S = 45.0
"""Much longer than the silence that ends a run. A busy server may not know the automation yet when the first comes."""


@flow
def silent() -> None:
    """Stands for a run whose process is gone."""


@pytest.fixture
def none(prefect: PrefectServer) -> Iterator[None]:
    """No such automation before and after."""
    yield
    with get_client(sync_client=True) as client:
        for found in client.read_automations_by_name(NAME):
            client.delete_automation(found.id)


def test_automation_is_made_once_and_kept_up_to_date(none: None) -> None:
    with get_client(sync_client=True) as client:
        assert keep_heartbeat_automation(client) == "created"
        assert keep_heartbeat_automation(client) == "unchanged"
        assert keep_heartbeat_automation(client, silence_s=60) == "updated"
        [found] = client.read_automations_by_name(NAME)
    assert found.enabled
    assert "60 s" in str(found.actions[0])


def test_run_that_falls_silent_becomes_crashed(none: None) -> None:
    with get_client(sync_client=True) as client:
        keep_heartbeat_automation(client, silence_s=10)
        run = client.create_flow_run(silent, state=Running())
        last_sign_s = -SIGN_EVERY_S

        def crashed() -> bool:
            nonlocal last_sign_s
            if time.monotonic() - last_sign_s >= SIGN_EVERY_S:
                last_sign_s = time.monotonic()
                sign = {"prefect.resource.id": f"prefect.flow-run.{run.id}"}
                emit_event("prefect.flow-run.heartbeat", resource=sign)
            state = client.read_flow_run(run.id).state
            return state is not None and state.is_crashed()

        until(crashed, "the silent run becomes Crashed", 150)
        state = client.read_flow_run(run.id).state
    assert state is not None
    assert state.message == "No heartbeat for 10 s: flow and worker have ended without a word."
