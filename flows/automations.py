"""Prefect's own view of a run that died without a word, cleaned up by Prefect itself.

Where flow and worker are killed together, no hook runs and the run stays Running for ever. The ledger believes this
verdict once it has not heard the run for so long either that one which is only cut off would visit nobody any more, and
starts another attempt; without it, the ledger waits for its own silence limit. Flow runs must send heartbeats more
often than Prefect's default of 180 s: set `PREFECT_FLOWS_HEARTBEAT_FREQUENCY=30` for their worker. The embedded stack
does.
"""

from datetime import timedelta
from typing import Literal

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from comity.contract.ledger import NO_HEARTBEAT
from flows.rules.pacing import RUN_SILENCE_S

NAME = "comity: a run without heartbeats has crashed"
_OVER = ("Completed", "Failed", "Cancelled", "Crashed")


def heartbeat_automation(silence_s: int = RUN_SILENCE_S) -> AutomationCore:
    """A run that was heard of and then not for so long, without an end, becomes Crashed."""
    trigger = EventTrigger(
        match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        after={"prefect.flow-run.heartbeat"},
        expect={"prefect.flow-run.heartbeat"} | {f"prefect.flow-run.{state}" for state in _OVER},
        threshold=1,
        within=timedelta(seconds=silence_s),
    )
    message = f"{NO_HEARTBEAT} for {silence_s} s: flow and worker have ended without a word."
    return AutomationCore(
        name=NAME,
        description="Cleans up Prefect's view of runs whose flow and worker were killed together.",
        enabled=True,
        trigger=trigger,
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=message)],
    )


def keep_heartbeat_automation(
    client: SyncPrefectClient, *, silence_s: int = RUN_SILENCE_S
) -> Literal["created", "updated", "unchanged"]:
    """Create the automation, or bring it up to date; there is never more than one."""
    wanted = heartbeat_automation(silence_s)
    existing = client.read_automations_by_name(NAME)
    for double in existing[1:]:
        client.delete_automation(double.id)
    if not existing:
        client.create_automation(wanted)
        return "created"
    if AutomationCore.model_validate(existing[0].model_dump(include=set(AutomationCore.model_fields))) == wanted:
        return "unchanged"
    client.update_automation(existing[0].id, wanted)
    return "updated"
