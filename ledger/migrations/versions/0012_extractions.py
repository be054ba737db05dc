"""Extractors, those that a crawl pinned, and what they gave for its pages."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "extractor",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("removed", sa.Boolean, nullable=False),
        sa.Column("newest_version", sa.Integer, nullable=False),
    )
    op.create_table(
        "extractor_version",
        sa.Column("extractor_id", sa.String(64), sa.ForeignKey("extractor.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("added_at", UtcTime, nullable=False),
    )
    op.create_table(
        "crawl_extractor",
        sa.Column("crawl_id", sa.String(32), sa.ForeignKey("crawl.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("extractor_id", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("url_pattern", sa.Text, nullable=False),
        sa.Column("program", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.UniqueConstraint("crawl_id", "extractor_id"),
    )
    _extractions()
    _runs()


def _extractions() -> None:
    op.create_table(
        "extraction",
        sa.Column("crawl_id", sa.String(32), sa.ForeignKey("crawl.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("page_id", sa.String(32), sa.ForeignKey("page.id", ondelete="CASCADE"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("value", sa.Text),
        sa.Column("warnings", sa.Text),
        sa.Column("error_code", sa.String(100)),
        sa.Column("error_message", sa.Text),
        sa.Column("error_path", sa.Text),
        sa.Column("extracted_at", UtcTime),
    )
    op.create_index("extraction_crawl_state", "extraction", ["crawl_id", "state", "partial"])
    pending = sa.text("state = 'pending'")
    columns = ["crawl_id", "position", "place"]
    op.create_index("extraction_pending", "extraction", columns, sqlite_where=pending, postgresql_where=pending)
    op.create_index("extraction_page", "extraction", ["page_id"])


def _runs() -> None:
    op.create_table(
        "extraction_run",
        sa.Column("crawl_id", sa.String(32), sa.ForeignKey("crawl.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("fruitless", sa.Integer, nullable=False),
        sa.Column("opened_at", UtcTime, nullable=False),
        sa.Column("flow_run_id", sa.String(64)),
        sa.Column("dispatched_at", UtcTime),
        sa.Column("run_id", sa.String(64)),
        sa.Column("first_seen_at", UtcTime),
        sa.Column("last_seen_at", UtcTime),
        sa.Column("last_result_at", UtcTime),
        sa.Column("prefect_state", sa.String(32)),
        sa.Column("prefect_state_at", UtcTime),
        sa.Column("dispatch_trouble", sa.Text),
        sa.Column("ended_at", UtcTime),
        sa.Column("ended_as", sa.String(16)),
        sa.Column("ended_reason", sa.Text),
        sa.Column("final", sa.Boolean, nullable=False),
    )
    op.create_index(
        "extraction_run_open",
        "extraction_run",
        ["crawl_id"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def downgrade() -> None:
    for table in ("extraction_run", "extraction", "crawl_extractor", "extractor_version", "extractor"):
        op.drop_table(table)
