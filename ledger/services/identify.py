"""Whose token is it? The ledger's own, one that was given away, or one of the issuer's."""

from typing import Protocol

from starlette.concurrency import run_in_threadpool

from ledger.principal import Principal
from ledger.services.keep_tokens import TokenService
from ledger.store.models import DEFAULT_ORGANIZATION
from ledger.tokens import Tokens

MAX_TOKEN_CHARACTERS = 8192

OWN = {
    "operator": Principal("operator", (DEFAULT_ORGANIZATION,), "admin", everywhere=True),
    "trigger": Principal("trigger", (DEFAULT_ORGANIZATION,), "submitter"),
    "flows": Principal("flows", (), "flows", everywhere=True),
}
"""Who shows the tokens that the ledger makes at its first start."""


class Issuer(Protocol):
    """Somebody else who vouches for callers."""

    async def principal_of(self, token: str) -> Principal | None:
        """Whose the token is, or None. Raises IssuerAway where it cannot be known now."""


class Identify:
    """Tells callers apart."""

    def __init__(self, own: Tokens, given: TokenService, issuer: Issuer | None) -> None:
        self._own = own
        self._given = given
        self._issuer = issuer

    async def principal_of(self, token: str) -> Principal | None:
        """Whose the token is. None for every one that lets nobody in, whatever the reason.

        Raises StoreBusy and IssuerAway.
        """
        if not token or len(token) > MAX_TOKEN_CHARACTERS:
            return None
        subject = self._own.subject_of(token)
        if subject is not None:
            return OWN[subject]
        if token.count(".") == 2:  # a JWT; ours have no dots
            return await self._issuer.principal_of(token) if self._issuer is not None else None
        return await run_in_threadpool(self._given.principal_of, token)
