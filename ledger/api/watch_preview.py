"""The route of looking at a page before it is watched."""

from typing import Annotated

from fastapi import APIRouter, Depends

from comity.contract.watch_preview import PagePreview, PreviewPage
from ledger.api.bodies import json_body
from ledger.api.parts_of import Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/watch")


@router.post("/preview", openapi_extra=takes(PreviewPage))
async def preview(ledger: Ledger, order: Annotated[PreviewPage, Depends(json_body(PreviewPage))]) -> PagePreview:
    """Look at a page: what a visit would find."""
    return await ledger.preview.look(order)
