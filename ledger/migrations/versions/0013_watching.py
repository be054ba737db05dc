"""Watched pages: what is watched, in which lists, what was found, and the queue."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcMillis

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
READY = sa.text("ready_at IS NOT NULL")
RESTING = sa.text("ready_at > first_due_at")
UNTOLD = sa.text("told_at IS NULL")
TABLES = (
    "watch_pace",
    "watch_tally",
    "watch_job",
    "watch_due",
    "watch_host",
    "watch_content",
    "watch_event",
    "watch_request",
    "watch_visit",
    "watch_state",
    "watch_member",
    "watch_list",
    "watch_label",
    "watch_page",
)


def upgrade() -> None:
    _pages()
    _lists()
    _state()
    _visits()
    _events()
    _queue()
    _counts()


def downgrade() -> None:
    op.execute(
        "UPDATE host SET lease_id = NULL WHERE lease_id IN (SELECT id FROM host_lease WHERE holder_kind = 'watch')"
    )
    op.execute("DELETE FROM host_lease WHERE holder_kind = 'watch'")
    for table in TABLES:
        op.drop_table(table)


def _page_id(**options: Any) -> sa.Column[int]:
    reference = sa.ForeignKey("watch_page.id", ondelete="CASCADE")
    return sa.Column("page_id", NUMBER, reference, nullable=False, **options)


def _pages() -> None:
    op.create_table(
        "watch_page",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("url_digest", sa.LargeBinary(16), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("settings", sa.JSON, nullable=True),
        sa.Column("version", sa.SmallInteger, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("added_at", UtcMillis, nullable=False),
        sa.Column("updated_at", UtcMillis, nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("watch_page_url", "watch_page", ["url_digest"], unique=True)
    op.create_table(
        "watch_label",
        _page_id(primary_key=True),
        sa.Column("label", sa.String(100), primary_key=True),
        sa.Column("position", sa.SmallInteger, nullable=False),
    )
    op.create_index("watch_label_pages", "watch_label", ["label", "page_id"])


def _lists() -> None:
    op.create_table(
        "watch_list",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("created_at", UtcMillis, nullable=False),
    )
    op.create_index("watch_list_organization", "watch_list", ["organization", "created_at"])
    op.create_table(
        "watch_member",
        sa.Column("list_id", sa.String(32), sa.ForeignKey("watch_list.id", ondelete="CASCADE"), primary_key=True),
        _page_id(primary_key=True),
        sa.Column("updated_at", UtcMillis, nullable=False),
    )
    op.create_index("watch_member_updated", "watch_member", ["list_id", "updated_at", "page_id"])
    op.create_index("watch_member_page", "watch_member", ["page_id"])


def _state() -> None:
    op.create_table(
        "watch_state",
        _page_id(primary_key=True),
        sa.Column("etag", sa.Text, nullable=True),
        sa.Column("last_modified", sa.Text, nullable=True),
        sa.Column("final_url", sa.Text, nullable=True),
        sa.Column("title", sa.Text, nullable=True),
        sa.Column("http_status", sa.SmallInteger, nullable=True),
        sa.Column("content_sha256", sa.String(64), nullable=True),
        sa.Column("content_location", sa.Text, nullable=True),
        sa.Column("content_at", UtcMillis, nullable=True),
        sa.Column("volatile_lines", sa.JSON, nullable=True),
        sa.Column("last_visit_at", UtcMillis, nullable=True),
        sa.Column("last_success_at", UtcMillis, nullable=True),
        sa.Column("last_outcome", sa.String(16), nullable=True),
        sa.Column("last_problem", sa.Text, nullable=True),
        sa.Column("last_token", sa.String(32), nullable=True),
        sa.Column("last_event_id", NUMBER, nullable=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("visits", "changes", "not_modified")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("failed_visits", "failures")),
        sa.Column("failing_told", sa.Boolean, nullable=False),
        sa.Column("rate", sa.JSON, nullable=True),
        sa.Column("rate_a_day", sa.Double, nullable=True),
        sa.Column("because", sa.Text, nullable=True),
    )


def _visits() -> None:
    op.create_table(
        "watch_visit",
        sa.Column("id", NUMBER, primary_key=True),
        _page_id(),
        sa.Column("at", UtcMillis, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("http_status", sa.SmallInteger, nullable=True),
        sa.Column("code", sa.String(64), nullable=True),
        sa.Column("problem", sa.Text, nullable=True),
        sa.Column("worker", sa.String(64), nullable=False),
        sa.Column("took_ms", sa.Integer, nullable=False),
        sa.Column("late_ms", sa.BigInteger, nullable=False),
        sa.Column("event_id", NUMBER, nullable=True),
    )
    op.create_index("watch_visit_page", "watch_visit", ["page_id", "id"])
    op.create_table(
        "watch_request",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("page_id", NUMBER, nullable=True),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=True),
        sa.Column("lease_id", sa.String(32), nullable=True),
        sa.Column("worker", sa.String(64), nullable=False),
        *(sa.Column(name, UtcMillis, nullable=False) for name in ("submitted_at", "finished_at", "received_at")),
        sa.Column("waited_ms", sa.BigInteger, nullable=False),
        sa.Column("promised_gap_ms", sa.Integer, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )
    op.create_index("watch_request_host", "watch_request", ["host", "received_at"])


def _events() -> None:
    op.create_table(
        "watch_event",
        sa.Column("id", NUMBER, primary_key=True),
        _page_id(),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", UtcMillis, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("before_sha256", sa.String(64), nullable=True),
        sa.Column("after_sha256", sa.String(64), nullable=True),
        sa.Column("removed_lines", sa.Integer, nullable=True),
        sa.Column("added_lines", sa.Integer, nullable=True),
        sa.Column("diff", sa.LargeBinary, nullable=True),
        sa.Column("problem", sa.Text, nullable=True),
        sa.Column("told_at", UtcMillis, nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("watch_event_page", "watch_event", ["page_id", "id"])
    op.create_index("watch_event_untold", "watch_event", ["id"], sqlite_where=UNTOLD, postgresql_where=UNTOLD)
    op.create_table(
        "watch_content",
        sa.Column("id", NUMBER, primary_key=True),
        _page_id(),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.Integer, nullable=False),
        sa.Column("at", UtcMillis, nullable=False),
    )
    op.create_index("watch_content_page", "watch_content", ["page_id", "id"])


def _queue() -> None:
    op.create_table(
        "watch_host",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("authority", sa.Text, nullable=False),
        sa.Column("lane", sa.SmallInteger, nullable=False),
        sa.Column("first_due_at", UtcMillis, nullable=True),
        sa.Column("rests_until", UtcMillis, nullable=False),
        sa.Column("ready_at", UtcMillis, nullable=True),
        sa.Column("ahead", sa.Boolean, nullable=False),
        sa.UniqueConstraint("authority", "lane"),
    )
    columns = ["lane", "ahead", "ready_at"]
    op.create_index("watch_host_ready", "watch_host", columns, sqlite_where=READY, postgresql_where=READY)
    columns = ["lane", "ready_at"]
    op.create_index("watch_host_resting", "watch_host", columns, sqlite_where=RESTING, postgresql_where=RESTING)
    op.create_table(
        "watch_due",
        _page_id(primary_key=True, autoincrement=False),
        sa.Column("host_id", NUMBER, sa.ForeignKey("watch_host.id"), nullable=False),
        sa.Column("due_at", UtcMillis, nullable=False),
        sa.Column("lost", sa.SmallInteger, nullable=False, server_default="0"),
    )
    op.create_index("watch_due_order", "watch_due", ["host_id", "due_at"])
    op.create_table(
        "watch_job",
        sa.Column("token", sa.String(32), primary_key=True),
        sa.Column("host_id", NUMBER, nullable=False),
        sa.Column("page_id", NUMBER, nullable=False),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("worker", sa.String(64), nullable=False),
        *(sa.Column(name, UtcMillis, nullable=False) for name in ("due_at", "claimed_at", "usable_at", "lease_until")),
        sa.Column("gap_ms", sa.Integer, nullable=False),
        sa.UniqueConstraint("host_id"),
    )
    op.create_index("watch_job_ends", "watch_job", ["lease_until"])
    op.create_index("watch_job_page", "watch_job", ["page_id"])


def _counts() -> None:
    op.create_table(
        "watch_tally",
        sa.Column("lane", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("organization", sa.String(64), primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "watch_pace",
        sa.Column("lane", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("allowance", sa.Double, nullable=False),
        sa.Column("at", UtcMillis, nullable=False),
    )
