"""The table that event streams are read from."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base, crawl_key


class CrawlEvent(Base):
    """Something that happened to a crawl, written in the transaction in which it happened.

    Whoever changes a crawl holds its row locked until the commit, so the events of one crawl become visible in the
    order of their ids: a reader that has seen one misses none before it, whichever replica wrote it.
    """

    __tablename__ = "crawl_event"
    __table_args__ = (Index("crawl_event_order", "crawl_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    crawl_id: Mapped[str] = mapped_column(crawl_key())
    kind: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]
    data: Mapped[dict[str, Any]]
