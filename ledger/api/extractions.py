"""Routes of what crawls extract: for its flow runs, and for those who read the results."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response, StreamingResponse

from comity.contract.extraction import (
    ExtractionList,
    ExtractionOrder,
    ExtractionsTaken,
    OrderExtractions,
    PinnedExtractors,
    ReportExtractions,
)
from ledger.api.bodies import json_body, reports
from ledger.api.file_answer import FileAnswer
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes
from ledger.services.extract_pages import Asked

JSON_LINES = "application/jsonl"
SPELLINGS = frozenset({JSON_LINES, "application/x-jsonlines", "application/x-ndjson", "application/json-lines"})

router = APIRouter(prefix="/api/crawls/{crawl_id}")


def asked_of(
    extractor: Annotated[str | None, Query(max_length=64, pattern=r"^[^\x00]+$")] = None,
    state: Literal["extracted", "failed"] | None = None,
    after: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Asked:
    """What a reader wants to see."""
    return Asked(extractor, state, after, limit)


def wants_lines(
    wanted: Annotated[Literal["json", "jsonl"] | None, Query(alias="format")] = None,
    accept: Annotated[str | None, Header()] = None,
) -> bool:
    """Whether the answer is to be JSON lines: `format` says so, or where it says nothing, Accept names them first.

    Accept is read without its weights (RFC 9110, section 12.5.1).
    """
    if wanted is not None:
        return wanted == "jsonl"
    named = [part.partition(";")[0].strip().lower() for part in (accept or "").split(",")]
    return next((one for one in named if one in SPELLINGS or one in ("application/json", "*/*")), "") in SPELLINGS


@router.get("/extractors")
def pinned(ledger: Ledger, caller: Caller, crawl_id: str) -> PinnedExtractors:
    """The extractors that the crawl pinned, with their programs."""
    return ledger.extractions.pinned(crawl_id, caller.sees)


@router.get(
    "/pages/{page_id}/html",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}, "description": "The page as the browser had it, in UTF-8"}},
)
def html(ledger: Ledger, caller: Caller, crawl_id: str, page_id: str) -> Response:
    """A captured page's HTML, as an attachment that no browser runs."""
    found = ledger.extractions.html(crawl_id, page_id, caller.sees)
    return FileAnswer(found, None, origin=None, origins=(), media_type="text/html; charset=utf-8")


@router.post("/extractions/orders", openapi_extra=takes(OrderExtractions))
def order(
    ledger: Ledger, crawl_id: str, asked: Annotated[OrderExtractions, Depends(json_body(OrderExtractions))]
) -> ExtractionOrder:
    """The next pages to extract from; none of them ends the run."""
    return ledger.extractions.order(crawl_id, asked)


@router.post("/extractions/results", openapi_extra=takes(ReportExtractions))
def take(
    ledger: Ledger, crawl_id: str, report: Annotated[ReportExtractions, Depends(json_body(ReportExtractions, reports))]
) -> ExtractionsTaken:
    """What programs gave for pages; none of it is a sign of life."""
    return ledger.extractions.take(crawl_id, report)


@router.get(
    "/extractions",
    response_class=Response,
    responses={
        200: {
            "model": ExtractionList,
            "content": {JSON_LINES: {}},
            "description": "A page of the list, or with `format=jsonl` all of it, one JSON text a line",
        }
    },
)
def extractions(
    ledger: Ledger,
    caller: Caller,
    crawl_id: str,
    asked: Annotated[Asked, Depends(asked_of)],
    as_lines: Annotated[bool, Depends(wants_lines)],
) -> Response:
    """What the crawl's extractors gave, pages in frontier order. `format` goes before Accept."""
    if as_lines:
        lines = ledger.extractions.every(crawl_id, asked, caller.sees)
        return StreamingResponse(lines, media_type=JSON_LINES, headers={"Cache-Control": "no-store"})
    found = ledger.extractions.listed(crawl_id, asked, caller.sees)
    return Response(found, media_type="application/json")
