"""Routes of channels: who is told what was found on watched pages."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from comity.contract.watch_telling import (
    ChangeChannel,
    Channel,
    ChannelMade,
    Channels,
    Messages,
    NewChannel,
    NewSecret,
    Tried,
)
from ledger.api.bodies import json_body
from ledger.api.parts_of import Caller, Ledger
from ledger.api.schema import takes

router = APIRouter(prefix="/api/watch/channels")


@router.get("")
def listed(ledger: Ledger, caller: Caller) -> Channels:
    """The caller's channels, oldest first."""
    return ledger.channels.listed(by=caller)


@router.post("", status_code=201, openapi_extra=takes(NewChannel))
def create(
    ledger: Ledger, caller: Caller, response: Response, order: Annotated[NewChannel, Depends(json_body(NewChannel))]
) -> ChannelMade:
    """A new channel; of a webhook this answer alone has the secret."""
    response.headers["Cache-Control"] = "no-store"
    return ledger.channels.create(order, by=caller)


@router.get("/{channel_id}")
def one(ledger: Ledger, caller: Caller, channel_id: str) -> Channel:
    """One channel."""
    return ledger.channels.one(channel_id, by=caller)


@router.patch("/{channel_id}", openapi_extra=takes(ChangeChannel))
def change(
    ledger: Ledger,
    caller: Caller,
    channel_id: str,
    order: Annotated[ChangeChannel, Depends(json_body(ChangeChannel))],
) -> Channel:
    """Change it; what is left out stays."""
    return ledger.channels.change(channel_id, order, by=caller)


@router.delete("/{channel_id}", status_code=204)
def remove(ledger: Ledger, caller: Caller, channel_id: str) -> None:
    """Tell nothing by it any more."""
    ledger.channels.remove(channel_id, by=caller)


@router.post("/{channel_id}/secret", openapi_extra=takes(NewSecret))
def renew_secret(
    ledger: Ledger,
    caller: Caller,
    channel_id: str,
    response: Response,
    order: Annotated[NewSecret, Depends(json_body(NewSecret))],
) -> ChannelMade:
    """A webhook's next secret, which this answer alone has."""
    response.headers["Cache-Control"] = "no-store"
    return ledger.channels.renew_secret(channel_id, order, by=caller)


@router.post("/{channel_id}/test")
def test(ledger: Ledger, caller: Caller, channel_id: str) -> Tried:
    """Send a message that says it is a test, now."""
    return ledger.channels.test(channel_id, by=caller)


@router.get("/{channel_id}/messages")
def messages(ledger: Ledger, caller: Caller, channel_id: str, before: str | None = None) -> Messages:
    """What it told and has to tell, newest first."""
    return ledger.channels.messages(channel_id, before=before, by=caller)
