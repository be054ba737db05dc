"""Routes of the extractor catalogue."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from comity.contract.extraction import (
    AddExtractor,
    ChangeExtractor,
    ExtractorDetail,
    ExtractorList,
    ExtractorView,
)
from comity.contract.ledger import ExtractorRejected
from ledger.api.bodies import json_body, lists
from ledger.api.parts_of import Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/extractors")


@router.get("")
def extractors(ledger: Ledger) -> ExtractorList:
    """The catalogue."""
    return ledger.extractors.every()


@router.post("", status_code=201, openapi_extra=takes(AddExtractor), responses={400: {"model": ExtractorRejected}})
def add_extractor(
    ledger: Ledger, response: Response, order: Annotated[AddExtractor, Depends(json_body(AddExtractor, lists))]
) -> ExtractorView:
    """Add a version: 201, or 200 where the newest one has the same files. All mistakes of a program are told."""
    view, added = ledger.extractors.add(order)
    if not added:
        response.status_code = 200
    return view


@router.get("/{extractor_id}")
def one_extractor(
    ledger: Ledger, extractor_id: str, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> ExtractorDetail:
    """An extractor with its files: the newest version, or the one that is asked for."""
    return ledger.extractors.one(extractor_id, version)


@router.patch("/{extractor_id}", openapi_extra=takes(ChangeExtractor))
def change_extractor(
    ledger: Ledger, extractor_id: str, order: Annotated[ChangeExtractor, Depends(json_body(ChangeExtractor))]
) -> ExtractorView:
    """Enable or disable an extractor."""
    return ledger.extractors.change(extractor_id, enabled=order.enabled)


@router.delete("/{extractor_id}", status_code=204)
def remove_extractor(ledger: Ledger, extractor_id: str) -> None:
    """Take an extractor out of the catalogue."""
    ledger.extractors.remove(extractor_id)
