"""Tokens of people and programs: given once, kept as a hash, revoked at once."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from typing import cast

from comity.contract.identity import CreateToken, Role, TokenCreated, TokenList, TokenView
from ledger import log
from ledger.clock import Clock
from ledger.errors import BadInput, StoreBusy, Unknown
from ledger.ids import new_id
from ledger.principal import Principal
from ledger.store import tokens
from ledger.store.database import Store
from ledger.store.models_identity import ApiToken
from ledger.tokens import SUBJECTS

TOKEN_BYTES = 32
"""256 random bits."""
USE_NOTED_EVERY = timedelta(minutes=1)
"""A token that is shown a hundred times a second costs one write a minute."""


class TokenService:
    """Creates, lists and revokes tokens, and tells whose one is."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, order: CreateToken, *, by: Principal) -> TokenCreated:
        """A new token, told this once. Raises BadInput for what the caller may not give away."""
        _check(order, by)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        now = self._clock()
        with self._store.writing() as tx:
            row = tokens.add(
                tx,
                token_id=new_id("k"),
                digest=_digest(token),
                subject=order.subject,
                role=order.role,
                organizations=list(dict.fromkeys(order.organizations)),
                created_by=by.subject,
                at=now,
                expires_at=now + timedelta(days=order.expires_in_days),
            )
            view = _view(row)
        log.event("token_created", token_id=view.id, subject=view.subject, role=view.role, by=by.subject)
        return TokenCreated(token=token, view=view)

    def listed(self, *, by: Principal) -> TokenList:
        """The tokens that the caller may revoke, newest first."""
        with self._store.reading() as tx:
            return TokenList(tokens=[_view(row) for row in tokens.every(tx) if _within(row, by)])

    def revoke(self, token_id: str, *, by: Principal) -> None:
        """Let nobody in with it any more. Again: the same. Raises Unknown."""
        with self._store.writing() as tx:
            row = tokens.get(tx, token_id)
            if row is None or not _within(row, by):
                raise Unknown("token", token_id)
            tokens.revoke(tx, row, at=self._clock())
        log.event("token_revoked", token_id=token_id, by=by.subject)

    def principal_of(self, token: str) -> Principal | None:
        """Whose the token is; None for one that is unknown, revoked or expired alike."""
        digest, now = _digest(token), self._clock()
        with self._store.reading() as tx:
            row = tokens.by_digest(tx, digest)
        if row is None or not hmac.compare_digest(row.digest, digest):
            return None
        if row.revoked_at is not None or row.expires_at <= now:
            return None
        self._note_use(row, now)
        role = cast(Role, row.role)
        return Principal(row.subject, tuple(row.organizations), role, everywhere=role == "flows")

    def _note_use(self, row: ApiToken, now: datetime) -> None:
        if row.last_used_at is not None and now - row.last_used_at < USE_NOTED_EVERY:
            return
        try:
            with self._store.writing() as tx:
                tokens.used(tx, row.id, at=now)
        except StoreBusy:
            log.warning("token_use_not_noted", token_id=row.id)  # the call matters more than the note


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _check(order: CreateToken, by: Principal) -> None:
    if order.subject in SUBJECTS:
        raise BadInput.at("subject", f"{order.subject} is the ledger's own; choose another")
    if order.role == "flows":
        if order.organizations:
            raise BadInput.at("organizations", "leave them out: a flows token serves the levels of all organisations")
        if not by.everywhere:
            raise BadInput.at("role", "flows tokens serve all organisations; only the operator gives them away")
        return
    if not order.organizations:
        raise BadInput.at("organizations", "name at least one; what the token starts belongs to the first")
    if by.sees is not None:
        foreign = [name for name in order.organizations if name not in by.sees]
        if foreign:
            raise BadInput.at("organizations", f"you may give away {', '.join(by.sees)}; not {', '.join(foreign)}")


def _within(row: ApiToken, by: Principal) -> bool:
    """Whether the token reaches no further than the caller."""
    return by.sees is None or (row.role != "flows" and set(row.organizations) <= set(by.sees))


def _view(row: ApiToken) -> TokenView:
    return TokenView(
        id=row.id,
        subject=row.subject,
        role=cast(Role, row.role),
        organizations=row.organizations,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
