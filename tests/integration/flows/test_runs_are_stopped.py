"""What Prefect makes of the ledger's request to end a run, wherever that run is."""

import asyncio

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Cancelling, Completed, Crashed, Pending, Running, Scheduled

from ledger.services.prefect_api import PrefectApi
from tests.integration.flows.conftest import PrefectServer

pytestmark = pytest.mark.prefect


@flow
def level() -> None:
    """Stands for a run of a level; nobody starts it."""


@pytest.mark.parametrize(
    ("state", "then"),
    [
        (Scheduled(), "CANCELLED"),
        (Pending(), "CANCELLED"),
        (Running(), "CANCELLING"),
        (Cancelling(), "CANCELLING"),
        (Crashed(), "CRASHED"),
        (Completed(), "COMPLETED"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.type.value,
)
def test_run_is_ended_wherever_it_is_and_one_that_is_over_stays_so(
    prefect: PrefectServer, state: State[None], then: str
) -> None:
    with get_client(sync_client=True) as client:
        run = client.create_flow_run(level)
        client.set_flow_run_state(run.id, state, force=True)

    async def cancelled() -> str | None:
        api = PrefectApi(prefect.url, "", "crawl-level/crawl-level", 20)
        try:
            await api.cancel_run(str(run.id))
            seen = await api.run_state(str(run.id))
        finally:
            await api.close()
        return seen.type if seen is not None else None

    assert asyncio.run(cancelled()) == then
