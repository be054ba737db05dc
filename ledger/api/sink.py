"""The route by which capture servers hand over artifacts."""

from fastapi import APIRouter, Response
from starlette.requests import ClientDisconnect, Request

from comity.contract.identity import SinkStored
from ledger.api.guard import bearer
from ledger.api.parts_of import Ledger
from ledger.errors import BadInput

router = APIRouter(prefix="/api/sink")
BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


@router.put("/{crawl_id}/{filename}", status_code=201, openapi_extra=BYTES)
async def put(ledger: Ledger, request: Request, response: Response, crawl_id: str, filename: str) -> SinkStored:
    """Keep an artifact: 201, or 200 where it was here already. The bearer token is the work order's own."""
    declared = request.headers.get("content-length", "")
    try:
        stored, new = await ledger.sink.take(
            crawl_id,
            filename,
            bearer(request.headers),
            request.stream(),
            int(declared) if declared.isdecimal() else None,
        )
    except ClientDisconnect:
        raise BadInput.at("body", "ended before it was whole; send it again") from None
    if not new:
        response.status_code = 200
    return stored
