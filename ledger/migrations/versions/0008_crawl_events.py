"""What happened to crawls, in order: event streams are read from here."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "crawl_event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("crawl_id", sa.String(32), sa.ForeignKey("crawl.id", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", UtcTime, nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
    )
    op.create_index("crawl_event_order", "crawl_event", ["crawl_id", "id"])


def downgrade() -> None:
    op.drop_table("crawl_event")
