"""Rows of tokens."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, update

from ledger.store.database import Tx
from ledger.store.models_identity import ApiToken


def add(
    tx: Tx,
    *,
    token_id: str,
    digest: str,
    subject: str,
    role: str,
    organizations: Sequence[str],
    created_by: str,
    at: datetime,
    expires_at: datetime,
) -> ApiToken:
    """A new token."""
    token = ApiToken(
        id=token_id,
        digest=digest,
        subject=subject,
        role=role,
        organizations=list(organizations),
        created_by=created_by,
        created_at=at,
        expires_at=expires_at,
    )
    tx.add(token)
    tx.flush()
    return token


def by_digest(tx: Tx, digest: str) -> ApiToken | None:
    """The token with that hash, whatever became of it."""
    return tx.scalars(select(ApiToken).where(ApiToken.digest == digest)).one_or_none()


def get(tx: Tx, token_id: str) -> ApiToken | None:
    """The token, or None."""
    return tx.get(ApiToken, token_id)


def every(tx: Tx) -> Sequence[ApiToken]:
    """All tokens, newest first, revoked and expired ones among them."""
    return tx.scalars(select(ApiToken).order_by(ApiToken.created_at.desc(), ApiToken.id)).all()


def used(tx: Tx, token_id: str, *, at: datetime) -> None:
    """Somebody showed the token."""
    tx.execute(update(ApiToken).where(ApiToken.id == token_id).values(last_used_at=at))


def revoke(tx: Tx, token: ApiToken, *, at: datetime) -> None:
    """From now on nobody is let in with it."""
    token.revoked_at = token.revoked_at or at
    tx.flush()
