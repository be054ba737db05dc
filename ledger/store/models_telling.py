"""Tables of telling: channels, what each has to tell, the messages made of it; and feeds that may be read."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base
from ledger.store.models_watch import Number, page_key
from ledger.store.types import UtcMillis

DUE = text("state = 'waiting'")


def _of(key: str) -> ForeignKey:
    return ForeignKey(key, ondelete="CASCADE")


class WatchChannel(Base):
    """Who is told. `target` and `secrets` are secrets. `old_secret_until` ends the older of two.

    `look_at`: nothing is to be decided before; None when nothing waits.
    """

    __tablename__ = "watch_channel"
    __table_args__ = (
        Index("watch_channel_organization", "organization", "created_at"),
        Index("watch_channel_look", "look_at"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    organization: Mapped[str] = mapped_column(String(64))
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(String(16))
    target: Mapped[str]
    secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    old_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    old_secret_until: Mapped[datetime | None] = mapped_column(UtcMillis)
    list_id: Mapped[str | None] = mapped_column(String(32), _of("watch_list.id"))
    page_id: Mapped[int | None] = mapped_column(Number, page_key())
    kinds: Mapped[list[str]] = mapped_column(JSON)
    quiet: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    enabled: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcMillis)
    look_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    last_sent_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    last_problem: Mapped[str | None]


class WatchMessage(Base):
    """Events that a channel tells as one. Its id stays the same over all tries: receivers know a repeat by it."""

    __tablename__ = "watch_message"
    __table_args__ = (
        Index("watch_message_channel", "channel_id", "id"),
        Index("watch_message_due", "next_try_at", sqlite_where=DUE, postgresql_where=DUE),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    channel_id: Mapped[str] = mapped_column(String(32), _of("watch_channel.id"))
    kind: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[datetime] = mapped_column(UtcMillis)
    tries: Mapped[int] = mapped_column(default=0)
    next_try_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    sent_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    problem: Mapped[str | None]


class WatchTelling(Base):
    """An event that a channel is to tell. Without a message it waits; `mended` ones need no telling any more."""

    __tablename__ = "watch_telling"
    __table_args__ = (
        Index("watch_telling_waiting", "channel_id", "message_id", "event_id"),
        Index("watch_telling_event", "event_id"),
    )

    channel_id: Mapped[str] = mapped_column(String(32), _of("watch_channel.id"), primary_key=True)
    event_id: Mapped[int] = mapped_column(Number, _of("watch_event.id"), primary_key=True)
    message_id: Mapped[int | None] = mapped_column(Number, _of("watch_message.id"))
    mended: Mapped[bool] = mapped_column(default=False)


class WatchFeed(Base):
    """A feed that whoever has its address may read. `digest` is the address's secret, hashed."""

    __tablename__ = "watch_feed"
    __table_args__ = (Index("watch_feed_organization", "organization", "created_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    organization: Mapped[str] = mapped_column(String(64))
    list_id: Mapped[str | None] = mapped_column(String(32), _of("watch_list.id"))
    page_id: Mapped[int | None] = mapped_column(Number, page_key())
    created_at: Mapped[datetime] = mapped_column(UtcMillis)
    created_by: Mapped[str] = mapped_column(Text)
    last_read_at: Mapped[datetime | None] = mapped_column(UtcMillis)
