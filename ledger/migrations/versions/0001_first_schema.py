"""The first schema."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "capture_target",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("added_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("url"),
    )
    op.create_index("capture_target_order", "capture_target", ["enabled", "position"], unique=False)
    op.create_table(
        "crawl",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("started_by", sa.String(length=64), nullable=False),
        sa.Column("policy", sa.JSON(), nullable=False),
        sa.Column("seeds", sa.JSON(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("bitten", sa.String(length=16), nullable=True),
        sa.Column("stop_reason", sa.String(length=16), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("compiled", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("started_at", UtcTime(), nullable=False),
        sa.Column("finished_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "crawl_running_slot",
        "crawl",
        ["slot"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("crawl_started_at", "crawl", ["started_at"], unique=False)
    op.create_table(
        "host",
        sa.Column("authority", sa.Text(), nullable=False),
        sa.Column("last_touched_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("authority"),
    )
    op.create_table(
        "script",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.Column("newest_version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "closing",
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("depth", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("closed_at", UtcTime(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("crawl_id", "depth"),
    )
    op.create_table(
        "crawl_script",
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("script_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("options", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("crawl_id", "position"),
        sa.UniqueConstraint("crawl_id", "script_id"),
    )
    op.create_table(
        "level",
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("depth", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("opened_at", UtcTime(), nullable=False),
        sa.Column("flow_run_id", sa.String(length=64), nullable=True),
        sa.Column("dispatched_at", UtcTime(), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("first_seen_at", UtcTime(), nullable=True),
        sa.Column("last_seen_at", UtcTime(), nullable=True),
        sa.Column("last_settled_at", UtcTime(), nullable=True),
        sa.Column("prefect_state", sa.String(length=32), nullable=True),
        sa.Column("prefect_state_at", UtcTime(), nullable=True),
        sa.Column("dispatch_trouble", sa.Text(), nullable=True),
        sa.Column("closed_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("crawl_id", "depth", "attempt"),
    )
    op.create_table(
        "page",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("final_url", sa.Text(), nullable=True),
        sa.Column("task_id", sa.String(length=128), nullable=True),
        sa.Column("artifacts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("manifest_location", sa.Text(), nullable=True),
        sa.Column("manifest_error", sa.Text(), nullable=True),
        sa.Column("links_location", sa.Text(), nullable=True),
        sa.Column("settled_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("crawl_id", "url"),
    )
    op.create_index("page_crawl_depth_state_position", "page", ["crawl_id", "depth", "state", "position"], unique=False)
    op.create_index("page_crawl_state", "page", ["crawl_id", "state"], unique=False)
    op.create_table(
        "script_version",
        sa.Column("script_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("phase", sa.String(length=16), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("options", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("added_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["script_id"], ["script.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("script_id", "version"),
    )
    op.create_table(
        "stale_report",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("received_at", UtcTime(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("stale_report_crawl", "stale_report", ["crawl_id"], unique=False)
    op.create_table(
        "start_key",
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.Column("crawl_id", sa.String(length=32), nullable=False),
        sa.Column("used_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("subject", "key"),
    )
    op.create_table(
        "page_links",
        sa.Column("page_id", sa.String(length=32), nullable=False),
        sa.Column("links", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("page_id"),
    )
    op.create_table(
        "visit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("page_id", sa.String(length=32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("try_number", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("task_id", sa.String(length=128), nullable=True),
        sa.Column("submitted_at", UtcTime(), nullable=False),
        sa.Column("finished_at", UtcTime(), nullable=False),
        sa.Column("received_at", UtcTime(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("promised_gap_ms", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("page_id", "attempt", "try_number"),
    )


def downgrade() -> None:
    for table in (
        *("visit", "page_links", "start_key", "stale_report", "script_version", "page", "level", "crawl_script"),
        *("closing", "script", "host", "crawl", "capture_target"),
    ):
        op.drop_table(table)
