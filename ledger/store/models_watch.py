"""Tables of watched pages: what is watched, in which lists, what is known of it, and what was found.

Rows are many and most say little: settings that are the deployment's are NULL, and what visits find out has a row of
its own once there was a visit. Times are whole milliseconds by the ledger's clock.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import DEFAULT_ORGANIZATION, Base
from ledger.store.types import UtcMillis

Number = BigInteger().with_variant(Integer, "sqlite")
"""A row's number: 64 bits everywhere. SQLite gives numbers by itself only to what is called INTEGER."""
UNTOLD = text("told_at IS NULL")


def page_key() -> ForeignKey:
    """A reference to a page that goes when the page goes."""
    return ForeignKey("watch_page.id", ondelete="CASCADE")


class WatchPage(Base):
    """A page that an organisation watches. `url_digest` is of both, and makes them one page.

    `settings` are those that differ from the defaults, None for none. `updated_at` is when it changed last.
    """

    __tablename__ = "watch_page"
    __table_args__ = (
        Index("watch_page_url", "url_digest", unique=True),
        {"sqlite_autoincrement": True},  # a number is never given twice: reports may come after a removal
    )

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    organization: Mapped[str] = mapped_column(String(64), default=DEFAULT_ORGANIZATION)
    url: Mapped[str]
    url_digest: Mapped[bytes] = mapped_column(LargeBinary(16))
    title: Mapped[str] = mapped_column(Text, default="")
    settings: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    version: Mapped[int] = mapped_column(SmallInteger)
    paused: Mapped[bool]
    added_at: Mapped[datetime] = mapped_column(UtcMillis)
    updated_at: Mapped[datetime | None] = mapped_column(UtcMillis)


class WatchLabel(Base):
    """A label of a page."""

    __tablename__ = "watch_label"
    __table_args__ = (Index("watch_label_pages", "label", "page_id"),)

    page_id: Mapped[int] = mapped_column(Number, page_key(), primary_key=True)
    label: Mapped[str] = mapped_column(String(100), primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger)


class WatchList(Base):
    """An antenna. `pages` counts its members, and is changed with them."""

    __tablename__ = "watch_list"
    __table_args__ = (Index("watch_list_organization", "organization", "created_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    organization: Mapped[str] = mapped_column(String(64))
    name: Mapped[str]
    description: Mapped[str]
    pages: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcMillis)


class WatchMember(Base):
    """A page of a list. `updated_at` is the page's, 1970 for never: lists are read in the order they show."""

    __tablename__ = "watch_member"
    __table_args__ = (
        Index("watch_member_updated", "list_id", "updated_at", "page_id"),
        Index("watch_member_page", "page_id"),
    )

    list_id: Mapped[str] = mapped_column(String(32), ForeignKey("watch_list.id", ondelete="CASCADE"), primary_key=True)
    page_id: Mapped[int] = mapped_column(Number, page_key(), primary_key=True)
    updated_at: Mapped[datetime] = mapped_column(UtcMillis)


class WatchState(Base):
    """What visits found out about a page. There is none before the first report.

    `rate` are the three floats that the change rate is learnt with, and what they stand for is the revisit rule's
    matter. `because` says why the page is due when it is. `last_token` is the job that was reported last: its repeat
    gets the same answer.
    """

    __tablename__ = "watch_state"

    page_id: Mapped[int] = mapped_column(Number, page_key(), primary_key=True)
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    final_url: Mapped[str | None]
    title: Mapped[str | None]
    http_status: Mapped[int | None] = mapped_column(SmallInteger)
    content_sha256: Mapped[str | None] = mapped_column(String(64))
    content_location: Mapped[str | None]
    content_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    volatile_lines: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    last_visit_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    last_success_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    last_outcome: Mapped[str | None] = mapped_column(String(16))
    last_problem: Mapped[str | None]
    last_token: Mapped[str | None] = mapped_column(String(32))
    last_event_id: Mapped[int | None] = mapped_column(Number)
    visits: Mapped[int] = mapped_column(default=0)
    changes: Mapped[int] = mapped_column(default=0)
    not_modified: Mapped[int] = mapped_column(default=0)
    failed_visits: Mapped[int] = mapped_column(default=0)
    failures: Mapped[int] = mapped_column(default=0)
    failing_told: Mapped[bool] = mapped_column(default=False)
    rate: Mapped[list[float] | None] = mapped_column(JSON(none_as_null=True))
    rate_a_day: Mapped[float | None] = mapped_column(Double)
    because: Mapped[str | None]


class WatchVisit(Base):
    """One reported job: the page's history."""

    __tablename__ = "watch_visit"
    __table_args__ = (Index("watch_visit_page", "page_id", "id"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    page_id: Mapped[int] = mapped_column(Number, page_key())
    at: Mapped[datetime] = mapped_column(UtcMillis)
    outcome: Mapped[str] = mapped_column(String(16))
    http_status: Mapped[int | None] = mapped_column(SmallInteger)
    code: Mapped[str | None] = mapped_column(String(64))
    problem: Mapped[str | None]
    worker: Mapped[str] = mapped_column(String(64))
    took_ms: Mapped[int]
    late_ms: Mapped[int] = mapped_column(BigInteger)
    event_id: Mapped[int | None] = mapped_column(Number)


class WatchRequest(Base):
    """A request that a site saw: evidence, which outlives its page. `url` is None where it is the page's own.

    `submitted_at` and `finished_at` are by the worker's clock. `lease_id` is the host's lease that it was made under.
    """

    __tablename__ = "watch_request"
    __table_args__ = (Index("watch_request_host", "host", "received_at"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    host: Mapped[str]
    page_id: Mapped[int | None] = mapped_column(Number)
    organization: Mapped[str] = mapped_column(String(64))
    url: Mapped[str | None]
    lease_id: Mapped[str | None] = mapped_column(String(32))
    worker: Mapped[str] = mapped_column(String(64))
    submitted_at: Mapped[datetime] = mapped_column(UtcMillis)
    finished_at: Mapped[datetime] = mapped_column(UtcMillis)
    received_at: Mapped[datetime] = mapped_column(UtcMillis)
    waited_ms: Mapped[int] = mapped_column(BigInteger)
    promised_gap_ms: Mapped[int]
    outcome: Mapped[str]


class WatchEvent(Base):
    """Something that is told about a page, kept with its diff (deflated JSON). `told_at` is None until it was told."""

    __tablename__ = "watch_event"
    __table_args__ = (
        Index("watch_event_page", "page_id", "id"),
        Index("watch_event_untold", "id", sqlite_where=UNTOLD, postgresql_where=UNTOLD),
        {"sqlite_autoincrement": True},  # readers remember how far they came
    )

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    page_id: Mapped[int] = mapped_column(Number, page_key())
    organization: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(UtcMillis)
    url: Mapped[str]
    title: Mapped[str]
    before_sha256: Mapped[str | None] = mapped_column(String(64))
    after_sha256: Mapped[str | None] = mapped_column(String(64))
    removed_lines: Mapped[int | None]
    added_lines: Mapped[int | None]
    diff: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    problem: Mapped[str | None]
    told_at: Mapped[datetime | None] = mapped_column(UtcMillis)


class WatchContent(Base):
    """A content of a page that lies in the artifact store."""

    __tablename__ = "watch_content"
    __table_args__ = (Index("watch_content_page", "page_id", "id"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    page_id: Mapped[int] = mapped_column(Number, page_key())
    sha256: Mapped[str] = mapped_column(String(64))
    location: Mapped[str]
    size_bytes: Mapped[int]
    at: Mapped[datetime] = mapped_column(UtcMillis)
