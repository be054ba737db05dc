"""The audit's route."""

from typing import Annotated

from fastapi import APIRouter, Query

from comity.contract.audit import AuditPage
from ledger.api.parts_of import Caller, Ledger

router = APIRouter()

HOSTS_AT_ONCE = 100


@router.get("/api/audit")
def audit(
    ledger: Ledger,
    caller: Caller,
    crawl: Annotated[str | None, Query(max_length=64, pattern=r"^[^\x00]+$")] = None,
    after: Annotated[str, Query(max_length=2048, pattern=r"^[^\x00]*$")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = HOSTS_AT_ONCE,
) -> AuditPage:
    """How polite the visits were: of one crawl, or of all of the caller's organisations."""
    return ledger.audits.page(crawl_id=crawl, after=after, limit=limit, organizations=caller.sees)
