"""Routes of the host gate, as flow runs use them before and after every visit.

Coroutines with one trip to a thread each, for the transaction. A plain function would take a second trip, in which the
framework checks the answer.
"""

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool

from comity.contract.hosts import HostLease, LeaseHost, LeaseReleased, LeaseRenewed, ReleaseLease, RenewLease
from ledger.api.bodies import json_body
from ledger.api.parts_of import Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/hosts")


@router.post("/lease", openapi_extra=takes(LeaseHost))
async def lease(ledger: Ledger, order: Annotated[LeaseHost, Depends(json_body(LeaseHost))]) -> HostLease:
    """Take a host for one visit."""
    return await run_in_threadpool(ledger.gate.lease, order)


@router.post("/renew", openapi_extra=takes(RenewLease))
async def renew(ledger: Ledger, order: Annotated[RenewLease, Depends(json_body(RenewLease))]) -> LeaseRenewed:
    """Keep it for longer."""
    return await run_in_threadpool(ledger.gate.renew, order)


@router.post("/release", openapi_extra=takes(ReleaseLease))
async def release(ledger: Ledger, order: Annotated[ReleaseLease, Depends(json_body(ReleaseLease))]) -> LeaseReleased:
    """Give it back."""
    return await run_in_threadpool(ledger.gate.release, order)
