"""The table of sitemaps that a level read."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base, crawl_key


class SitemapPart(Base):
    """A part of a sitemap, as a run reported it: followable URLs, kept until the level closes, then only the rest."""

    __tablename__ = "sitemap_part"
    __table_args__ = (UniqueConstraint("crawl_id", "depth", "url", "part"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    crawl_id: Mapped[str] = mapped_column(crawl_key())
    depth: Mapped[int]
    url: Mapped[str]
    part: Mapped[int]
    outcome: Mapped[str]
    named: Mapped[int]
    links: Mapped[list[str]]
    received_at: Mapped[datetime]
