"""Tables about what captures left behind: manifests that are late, and the text that search finds pages by."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base


class LateManifest(Base):
    """A page that was settled by its report because its manifest was not there; looked for until it is, or given up."""

    __tablename__ = "late_manifest"
    __table_args__ = (Index("late_manifest_next_look", "next_look_at"),)

    page_id: Mapped[str] = mapped_column(ForeignKey("page.id", ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int]
    result: Mapped[dict[str, Any]]
    problem: Mapped[str]
    marked_at: Mapped[datetime]
    next_look_at: Mapped[datetime]


class PageText(Base):
    """The text of a captured page. `terms` are its words as search sees them, a space before and after each.

    A page that has no text that can be read has a row too, with the `problem`, so that it is not tried for ever. The
    index over `terms` is the database's own: see `ledger.store.search`.
    """

    __tablename__ = "page_text"

    id: Mapped[int] = mapped_column(primary_key=True)
    page_id: Mapped[str] = mapped_column(ForeignKey("page.id", ondelete="CASCADE"), unique=True)
    title: Mapped[str]
    text: Mapped[str] = mapped_column(Text, deferred=True)
    terms: Mapped[str] = mapped_column(Text, deferred=True)
    problem: Mapped[str | None] = mapped_column(String(300))
    indexed_at: Mapped[datetime]
