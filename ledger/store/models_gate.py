"""The host gate's table: every lease that was ever given, the live one of a host among them."""

from datetime import datetime

from sqlalchemy import Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base

LIVE = text("ended_at IS NULL")


class HostLease(Base):
    """A lease, and the evidence of it when it has ended. All times are by the ledger's clock.

    `ended_at` is when the gate took the host back, `released_at` when the holder said that it was done, which may be
    later or never. `gap_ms` is the gap that `wait_ms` kept.
    """

    __tablename__ = "host_lease"
    __table_args__ = (
        Index("host_lease_live", "holder_kind", "holder_key", sqlite_where=LIVE, postgresql_where=LIVE),
        Index("host_lease_ended_at", "ended_at"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    holder_kind: Mapped[str] = mapped_column(String(16))
    holder_key: Mapped[str] = mapped_column(String(80))
    holder_attempt: Mapped[int]
    granted_at: Mapped[datetime]
    wait_ms: Mapped[int]
    gap_ms: Mapped[int]
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    ending: Mapped[str | None] = mapped_column(String(16))
    released_at: Mapped[datetime | None]
