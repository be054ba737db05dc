"""The tables of what crawls extract: with which extractors, what from which page, and in which runs."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base, FlowRun, crawl_key


class CrawlExtractor(Base):
    """An extractor as this crawl runs it, over the pages whose URL matches, whatever becomes of the catalogue."""

    __tablename__ = "crawl_extractor"
    __table_args__ = (UniqueConstraint("crawl_id", "extractor_id"),)

    crawl_id: Mapped[str] = mapped_column(crawl_key(), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    extractor_id: Mapped[str] = mapped_column(String(64))
    version: Mapped[int]
    name: Mapped[str]
    url_pattern: Mapped[str]
    program: Mapped[str] = mapped_column(Text, deferred=True)
    sha256: Mapped[str] = mapped_column(String(64))


class Extraction(Base):
    """What an extractor gave, or is still to give, for a captured page: the queue and its results in one.

    `position` is the page's place in the frontier, `place` the extractor's on the crawl; both order what is listed.
    `value` and `warnings` are JSON texts, passed on as they are.
    """

    __tablename__ = "extraction"
    __table_args__ = (
        Index("extraction_crawl_state", "crawl_id", "state", "partial"),  # counts, without a look at the rows
        Index(
            "extraction_pending",
            "crawl_id",
            "position",
            "place",
            sqlite_where=text("state = 'pending'"),
            postgresql_where=text("state = 'pending'"),
        ),
        Index("extraction_page", "page_id"),
    )

    crawl_id: Mapped[str] = mapped_column(crawl_key(), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    page_id: Mapped[str] = mapped_column(ForeignKey("page.id", ondelete="CASCADE"))
    state: Mapped[str] = mapped_column(String(16))
    partial: Mapped[bool]
    value: Mapped[str | None] = mapped_column(Text, deferred=True)
    warnings: Mapped[str | None] = mapped_column(Text, deferred=True)
    error_code: Mapped[str | None] = mapped_column(String(100))
    error_message: Mapped[str | None]
    error_path: Mapped[str | None]
    extracted_at: Mapped[datetime | None]


class ExtractionRun(FlowRun):
    """A flow run that extracts for a crawl, one at a time.

    `fruitless` counts the runs in a row before this one that brought no result; `final`: none follows by itself.
    """

    __tablename__ = "extraction_run"
    __table_args__ = (
        # A crawl cannot have two runs at once, whoever opens them.
        Index(
            "extraction_run_open",
            "crawl_id",
            unique=True,
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
    )

    crawl_id: Mapped[str] = mapped_column(crawl_key(), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fruitless: Mapped[int]
    last_result_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    final: Mapped[bool] = mapped_column(default=False)
