"""The queue of watched pages.

A host is in the ready index from `ready_at` on, and leaves it while one of its pages is in flight: `watch_job` has one
row a host, so that no second one can be. Claims look at hosts that are ready and at the first page of each, never at
pages that have to wait for their host.
"""

from datetime import datetime

from sqlalchemy import BigInteger, Double, ForeignKey, Index, SmallInteger, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from ledger.store.models import Base
from ledger.store.models_watch import Number, page_key
from ledger.store.types import UtcMillis

READY = text("ready_at IS NOT NULL")
RESTING = text("ready_at > first_due_at")


class WatchHost(Base):
    """A host of watched pages. `lane` is the version of its pages: those of one host are visited, or rehearsed, apart.

    `first_due_at` is when the first of its pages is due, `rests_until` the end of its own gap; `ready_at` the later of
    them, None while a page is in flight or none is in the queue. `ahead`: taken before the others, because somebody
    waits for it or holds its place at the gate.
    """

    __tablename__ = "watch_host"
    __table_args__ = (
        UniqueConstraint("authority", "lane"),
        Index("watch_host_ready", "lane", "ahead", "ready_at", sqlite_where=READY, postgresql_where=READY),
        Index("watch_host_resting", "lane", "ready_at", sqlite_where=RESTING, postgresql_where=RESTING),
    )

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    authority: Mapped[str]
    lane: Mapped[int] = mapped_column(SmallInteger)
    first_due_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    rests_until: Mapped[datetime] = mapped_column(UtcMillis)
    ready_at: Mapped[datetime | None] = mapped_column(UtcMillis)
    ahead: Mapped[bool]


class WatchDue(Base):
    """A page in the queue: neither paused nor removed. `lost` counts claims in a row that nobody reported."""

    __tablename__ = "watch_due"
    __table_args__ = (Index("watch_due_order", "host_id", "due_at"),)

    page_id: Mapped[int] = mapped_column(Number, page_key(), primary_key=True, autoincrement=False)
    host_id: Mapped[int] = mapped_column(Number, ForeignKey("watch_host.id"))
    due_at: Mapped[datetime] = mapped_column(UtcMillis)
    lost: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")


class WatchJob(Base):
    """A page in flight: who claimed it and until when. `token` is the id of the gate's lease too.

    No foreign key to the page: one that is removed while it is visited keeps its host until the visit is over.
    """

    __tablename__ = "watch_job"
    __table_args__ = (
        UniqueConstraint("host_id"),
        Index("watch_job_ends", "lease_until"),
        Index("watch_job_page", "page_id"),
    )

    token: Mapped[str] = mapped_column(String(32), primary_key=True)
    host_id: Mapped[int] = mapped_column(Number)
    page_id: Mapped[int] = mapped_column(Number)
    organization: Mapped[str] = mapped_column(String(64))
    worker: Mapped[str] = mapped_column(String(64))
    due_at: Mapped[datetime] = mapped_column(UtcMillis)
    claimed_at: Mapped[datetime] = mapped_column(UtcMillis)
    usable_at: Mapped[datetime] = mapped_column(UtcMillis)
    lease_until: Mapped[datetime] = mapped_column(UtcMillis)
    gap_ms: Mapped[int]


class WatchTally(Base):
    """Counts that are kept as pages move: of a lane and an organisation, by the minute in which pages are due.

    Minutes below zero are counts of another kind (see `ledger.rules.watch_tally`). A count is the sum over its shards:
    transactions that change the same count at once change different rows of it.
    """

    __tablename__ = "watch_tally"

    lane: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    organization: Mapped[str] = mapped_column(String(64), primary_key=True)
    shard: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    pages: Mapped[int] = mapped_column(BigInteger)


class WatchPace(Base):
    """How many visits may begin now, of each lane; refilled as time passes."""

    __tablename__ = "watch_pace"

    lane: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    allowance: Mapped[float] = mapped_column(Double)
    at: Mapped[datetime] = mapped_column(UtcMillis)
