"""Routes of the queue of watched pages, as workers use them."""

from typing import Annotated

from fastapi import APIRouter, Depends

from comity.contract.watch_queue import (
    ClaimJobs,
    CompleteJobs,
    JobsClaimed,
    JobsCompleted,
    JobsRenewed,
    JobsReturned,
    RenewJobs,
    ReturnJobs,
)
from ledger.api.bodies import json_body, reports
from ledger.api.parts_of import Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/watch/queue")


@router.post("/claim", openapi_extra=takes(ClaimJobs))
def claim(ledger: Ledger, order: Annotated[ClaimJobs, Depends(json_body(ClaimJobs))]) -> JobsClaimed:
    """Take pages to visit, one of a host."""
    return ledger.watching.claims.claim(order)


@router.post("/renew", openapi_extra=takes(RenewJobs))
def renew(ledger: Ledger, order: Annotated[RenewJobs, Depends(json_body(RenewJobs))]) -> JobsRenewed:
    """Keep them for longer."""
    return ledger.watching.claims.renew(order)


@router.post("/return", openapi_extra=takes(ReturnJobs))
def give_back(ledger: Ledger, order: Annotated[ReturnJobs, Depends(json_body(ReturnJobs))]) -> JobsReturned:
    """Give them back unvisited."""
    return ledger.watching.claims.give_back(order)


@router.post("/complete", openapi_extra=takes(CompleteJobs))
def complete(
    ledger: Ledger, order: Annotated[CompleteJobs, Depends(json_body(CompleteJobs, reports))]
) -> JobsCompleted:
    """Report what came of them."""
    return ledger.watching.completions.complete(order)
