"""How a route reaches the ledger's parts and its caller.

Coroutines, though they wait for nothing: the framework sends a plain function to a thread and waits for its return,
which took longer than all else that it does for a call.
"""

from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from ledger.parts import Parts
from ledger.principal import Principal


async def parts_of(request: Request) -> Parts:
    """The parts of the application that the request came to."""
    return cast(Parts, request.app.state.parts)


async def caller_of(request: Request) -> Principal:
    """Whose token the request carries, as the guard found out."""
    return cast(Principal, request.state.principal)


async def subject_of(caller: "Caller") -> str:
    """The caller's name alone."""
    return caller.subject


Ledger = Annotated[Parts, Depends(parts_of)]
Caller = Annotated[Principal, Depends(caller_of)]
Subject = Annotated[str, Depends(subject_of)]
