"""Sitemaps that a level read, and the links that they named."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sitemap_part",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("crawl_id", sa.String(32), sa.ForeignKey("crawl.id", ondelete="CASCADE"), nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("named", sa.Integer, nullable=False),
        sa.Column("links", sa.JSON, nullable=False),
        sa.Column("received_at", UtcTime, nullable=False),
        sa.UniqueConstraint("crawl_id", "depth", "url", "part"),
    )


def downgrade() -> None:
    op.drop_table("sitemap_part")
