"""Every table of the ledger. Only `ledger.store` writes SQL; services read these rows and ask for changes.

A crawl has levels (a row per attempt), a level has pages, a page has visits. What a crawl runs is pinned on it:
its policy as JSON, its scripts with their source.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ledger.store.types import UtcTime

DEFAULT_ORGANIZATION = "default"
"""Whose everything is where nobody said otherwise."""


class Base(DeclarativeBase):
    """Maps Python types to portable column types."""

    type_annotation_map = {datetime: UtcTime, dict[str, Any]: JSON, list[str]: JSON, str: Text}


def _of(key: str) -> ForeignKey:
    """A reference that goes when the row it points at goes."""
    return ForeignKey(key, ondelete="CASCADE")


def crawl_key() -> ForeignKey:
    """A reference to a crawl, for tables that are declared elsewhere."""
    return _of("crawl.id")


class Crawl(Base):
    """One crawl. `depth` and `attempt` name its current level; `bitten` is the first stop reason that bit so far."""

    __tablename__ = "crawl"
    __table_args__ = (
        # Two crawls cannot run in one slot, whoever starts them at once.
        Index(
            "crawl_running_slot",
            "slot",
            unique=True,
            sqlite_where=text("state = 'running'"),
            postgresql_where=text("state = 'running'"),
        ),
        Index("crawl_started_at", "started_at"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    state: Mapped[str] = mapped_column(String(16))
    slot: Mapped[int | None]
    organization: Mapped[str] = mapped_column(String(64), default=DEFAULT_ORGANIZATION, server_default="default")
    started_by: Mapped[str] = mapped_column(String(64))
    policy: Mapped[dict[str, Any]]
    seeds: Mapped[list[str]] = mapped_column(JSON, deferred=True)
    seed_count: Mapped[int] = mapped_column(default=0, server_default="0")
    first_seeds: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    kept_bytes: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    depth: Mapped[int]
    attempt: Mapped[int]
    bitten: Mapped[str | None] = mapped_column(String(16))
    stop_reason: Mapped[str | None] = mapped_column(String(16))
    error: Mapped[str | None]
    compiled: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class CrawlScript(Base):
    """A script as this crawl runs it, whatever becomes of the catalogue."""

    __tablename__ = "crawl_script"
    __table_args__ = (UniqueConstraint("crawl_id", "script_id"),)

    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    script_id: Mapped[str] = mapped_column(String(64))
    version: Mapped[int]
    phase: Mapped[str] = mapped_column(String(16))
    source: Mapped[str] = mapped_column(Text, deferred=True)
    sha256: Mapped[str] = mapped_column(String(64))
    options: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class FlowRun(Base):
    """What is known of work that a flow run does for a crawl.

    `flow_run_id` is the run that we dispatched, `run_id` the one that took the work order. `prefect_state_at` is when
    *we* first saw `prefect_state`, so that nobody else's clock decides a deadline.
    """

    __abstract__ = True

    opened_at: Mapped[datetime]
    flow_run_id: Mapped[str | None] = mapped_column(String(64))
    dispatched_at: Mapped[datetime | None]
    run_id: Mapped[str | None] = mapped_column(String(64))
    first_seen_at: Mapped[datetime | None]
    last_seen_at: Mapped[datetime | None]
    prefect_state: Mapped[str | None] = mapped_column(String(32))
    prefect_state_at: Mapped[datetime | None]
    dispatch_trouble: Mapped[str | None]
    ended_as: Mapped[str | None] = mapped_column(String(16))
    ended_reason: Mapped[str | None]


class Level(FlowRun):
    """One attempt at one level, and how its flow run fares.

    `ended_as` is `closed`, or how the attempt ended that did not close the level, with its reason.
    """

    __tablename__ = "level"

    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"), primary_key=True)
    depth: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    last_settled_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]


class Page(Base):
    """One URL of one crawl. `position` is its place in the frontier, over all levels."""

    __tablename__ = "page"
    __table_args__ = (
        UniqueConstraint("crawl_id", "url"),  # this is the deduplication
        Index("page_state_settled", "state", "settled_at", "id"),
        # Counts by state, and the last failures, without a look at the rows themselves.
        Index("page_crawl_state_settled", "crawl_id", "state", "settled_at", "position"),
        Index("page_crawl_depth_state_position", "crawl_id", "depth", "state", "position"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"))
    depth: Mapped[int]
    position: Mapped[int]
    url: Mapped[str]
    host: Mapped[str]
    state: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None]
    failure: Mapped[str | None] = mapped_column(String(16))
    http_status: Mapped[int | None]
    final_url: Mapped[str | None]
    task_id: Mapped[str | None] = mapped_column(String(128))
    artifacts: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    manifest_location: Mapped[str | None]
    manifest_error: Mapped[str | None]
    links_location: Mapped[str | None]
    settled_at: Mapped[datetime | None]


class PageLinks(Base):
    """Followable links of a captured page, read when its result arrived, kept until its level closes."""

    __tablename__ = "page_links"

    page_id: Mapped[str] = mapped_column(_of("page.id"), primary_key=True)
    links: Mapped[list[str]]


class Visit(Base):
    """One try at one page: the evidence that gaps are measured from. `received_at` is by the ledger's clock.

    `lease_id` is the host's lease that it was made under, `waited_ms` how long after the lease's arrival.
    """

    __tablename__ = "visit"
    __table_args__ = (
        UniqueConstraint("page_id", "attempt", "try_number"),
        Index("visit_host", "host", "received_at"),
        Index("visit_task", "task_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    page_id: Mapped[str] = mapped_column(_of("page.id"))
    host: Mapped[str] = mapped_column(Text, server_default="")
    attempt: Mapped[int]
    try_number: Mapped[int]
    run_id: Mapped[str] = mapped_column(String(64))
    endpoint: Mapped[str]
    task_id: Mapped[str | None] = mapped_column(String(128))
    submitted_at: Mapped[datetime]
    finished_at: Mapped[datetime]
    received_at: Mapped[datetime]
    outcome: Mapped[str]
    promised_gap_ms: Mapped[int | None]
    lease_id: Mapped[str | None] = mapped_column(String(32))
    waited_ms: Mapped[int | None]


class Closing(Base):
    """That a level was closed, and with which answer: a repeat gets the same one, its pages from the next level."""

    __tablename__ = "closing"

    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"), primary_key=True)
    depth: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int]
    run_id: Mapped[str] = mapped_column(String(64))
    closed_at: Mapped[datetime]
    stop_reason: Mapped[str | None] = mapped_column(String(16))


class StaleReport(Base):
    """What a run said that does not hold the level: evidence, nothing more."""

    __tablename__ = "stale_report"
    __table_args__ = (Index("stale_report_crawl", "crawl_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"))
    kind: Mapped[str] = mapped_column(String(16))
    depth: Mapped[int]
    attempt: Mapped[int]
    run_id: Mapped[str] = mapped_column(String(64))
    why: Mapped[str]
    received_at: Mapped[datetime]
    body: Mapped[dict[str, Any]]


class StartKey(Base):
    """An Idempotency-Key that started a crawl, per caller: two organisations may each have one of the same name."""

    __tablename__ = "start_key"

    organization: Mapped[str] = mapped_column(String(64), primary_key=True, server_default="default")
    subject: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    body_sha256: Mapped[str] = mapped_column(String(64))
    crawl_id: Mapped[str] = mapped_column(_of("crawl.id"))
    used_at: Mapped[datetime]


class Host(Base):
    """One host (URL authority): when anyone last touched it, what it asked for, who has it and who waits for it.

    `lease_id` is its lease in `host_lease`, while it has one. `waiting` are those who were refused, in the order of
    their turns. All times are by the ledger's clock.
    """

    __tablename__ = "host"

    authority: Mapped[str] = mapped_column(Text, primary_key=True)
    last_touched_at: Mapped[datetime | None]
    crawl_delay_ms: Mapped[int | None]
    crawl_delay_heard_at: Mapped[datetime | None]
    rests_until: Mapped[datetime | None]
    lease_id: Mapped[str | None] = mapped_column(String(32))
    waiting: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))


class Target(Base):
    """A URL that crawls `fromTargets` begin at."""

    __tablename__ = "capture_target"
    __table_args__ = (
        UniqueConstraint("organization", "url", name="capture_target_organization_url_key"),
        Index("capture_target_order", "enabled", "position"),
    )

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    organization: Mapped[str] = mapped_column(String(64), default=DEFAULT_ORGANIZATION, server_default="default")
    position: Mapped[int]
    url: Mapped[str]
    enabled: Mapped[bool]
    labels: Mapped[list[str]]
    added_at: Mapped[datetime]
