"""Routes of tokens, for admins."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from comity.contract.identity import CreateToken, TokenCreated, TokenList
from ledger.api.bodies import json_body
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/tokens")


@router.get("")
def listed(ledger: Ledger, caller: Caller) -> TokenList:
    """Tokens that reach no further than the caller."""
    return ledger.tokens.listed(by=caller)


@router.post("", status_code=201, openapi_extra=takes(CreateToken))
def create(
    ledger: Ledger,
    caller: Caller,
    response: Response,
    order: Annotated[CreateToken, Depends(json_body(CreateToken))],
) -> TokenCreated:
    """A new token; this answer alone has it."""
    response.headers["Cache-Control"] = "no-store"
    return ledger.tokens.create(order, by=caller)


@router.delete("/{token_id}", status_code=204)
def revoke(ledger: Ledger, caller: Caller, token_id: str) -> None:
    """Let nobody in with it any more."""
    ledger.tokens.revoke(token_id, by=caller)
