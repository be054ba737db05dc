"""Tables of who may call."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base


class ApiToken(Base):
    """A token that somebody was given. The token itself is nowhere: `digest` is its SHA-256, in hex."""

    __tablename__ = "api_token"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    subject: Mapped[str] = mapped_column(String(64))
    role: Mapped[str] = mapped_column(String(16))
    organizations: Mapped[list[str]]
    created_by: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
