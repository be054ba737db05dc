"""Routes of levels, as flow runs use them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from comity.contract.ledger import (
    CloseLevel,
    LevelClosed,
    ReportResults,
    ResultsAnswer,
    RunFailed,
    RunFailedAnswer,
    WorkOrder,
)
from ledger.api.bodies import json_body, reports
from ledger.api.parts_of import Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/crawls/{crawl_id}")


@router.get("/levels/{depth}")
def work_order(
    ledger: Ledger,
    crawl_id: str,
    depth: Annotated[int, Path(ge=0, le=1000)],
    attempt: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    run_id: Annotated[str | None, Query(alias="runId", max_length=64, pattern=r"^[^\x00]+$")] = None,
) -> WorkOrder:
    """The work order of a level."""
    return ledger.orders.fetch(crawl_id, depth, attempt, run_id)


@router.post("/results", openapi_extra=takes(ReportResults))
async def results(
    ledger: Ledger, crawl_id: str, report: Annotated[ReportResults, Depends(json_body(ReportResults, reports))]
) -> ResultsAnswer:
    """Finished pages; none of them is a sign of life."""
    return await run_in_threadpool(ledger.results.record, crawl_id, report)


@router.post("/pages", openapi_extra=takes(CloseLevel), response_model=LevelClosed)
def close(
    ledger: Ledger, crawl_id: str, order: Annotated[CloseLevel, Depends(json_body(CloseLevel, reports))]
) -> Response:
    """Close the level."""
    closed = ledger.closings.close(crawl_id, order)
    return Response(closed.to_json(), media_type="application/json")


@router.post("/failed", openapi_extra=takes(RunFailed))
def failed(
    ledger: Ledger, crawl_id: str, report: Annotated[RunFailed, Depends(json_body(RunFailed))]
) -> RunFailedAnswer:
    """The run gave up."""
    return ledger.stops.run_failed(crawl_id, report)
