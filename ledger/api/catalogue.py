"""Routes of capture targets and of the script catalogue."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from comity.contract.ledger import (
    AddScript,
    AddTargets,
    ChangeScript,
    ChangeTarget,
    ScriptDetail,
    ScriptList,
    ScriptView,
    TargetList,
    TargetsAdded,
    TargetView,
)
from ledger.api.bodies import json_body, lists
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api")


@router.get("/targets")
def targets(
    ledger: Ledger,
    caller: Caller,
    label: Annotated[list[str] | None, Query(max_length=20)] = None,
    enabled: bool | None = None,
) -> TargetList:
    """Targets of the caller's organisations; with `label`, repeatable, those that have every one of these labels."""
    return ledger.targets.every(caller.sees, labels=label or (), enabled=enabled)


@router.post("/targets", status_code=201, openapi_extra=takes(AddTargets))
def add_targets(
    ledger: Ledger, caller: Caller, order: Annotated[AddTargets, Depends(json_body(AddTargets, lists))]
) -> TargetsAdded:
    """Add targets; answers with the rows of the URLs that were sent."""
    return ledger.targets.add(order, caller.home)


@router.patch("/targets/{target_id}", openapi_extra=takes(ChangeTarget))
def change_target(
    ledger: Ledger, caller: Caller, target_id: str, order: Annotated[ChangeTarget, Depends(json_body(ChangeTarget))]
) -> TargetView:
    """Enable, disable or label a target."""
    return ledger.targets.change(target_id, order, caller.sees)


@router.delete("/targets/{target_id}", status_code=204)
def remove_target(ledger: Ledger, caller: Caller, target_id: str) -> None:
    """Remove a target."""
    ledger.targets.remove(target_id, caller.sees)


@router.get("/scripts")
def scripts(ledger: Ledger) -> ScriptList:
    """The catalogue."""
    return ledger.scripts.every()


@router.post("/scripts", status_code=201, openapi_extra=takes(AddScript))
def add_script(
    ledger: Ledger, response: Response, order: Annotated[AddScript, Depends(json_body(AddScript, lists))]
) -> ScriptView:
    """Add a version: 201, or 200 where the newest one is the same."""
    view, added = ledger.scripts.add(order)
    if not added:
        response.status_code = 200
    return view


@router.get("/scripts/{script_id}")
def one_script(
    ledger: Ledger, script_id: str, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> ScriptDetail:
    """A script with its source: the newest version, or the one that is asked for."""
    return ledger.scripts.one(script_id, version)


@router.patch("/scripts/{script_id}", openapi_extra=takes(ChangeScript))
def change_script(
    ledger: Ledger, script_id: str, order: Annotated[ChangeScript, Depends(json_body(ChangeScript))]
) -> ScriptView:
    """Enable or disable a script."""
    return ledger.scripts.change(script_id, enabled=order.enabled)


@router.delete("/scripts/{script_id}", status_code=204)
def remove_script(ledger: Ledger, script_id: str) -> None:
    """Take a script out of the catalogue."""
    ledger.scripts.remove(script_id)
