"""Whose a crawl and a target are. What was there before belongs to the organisation `default`."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("crawl", "capture_target"):
        op.add_column(table, sa.Column("organization", sa.String(64), nullable=False, server_default="default"))


def downgrade() -> None:
    # Not in a batch: on SQLite that makes the table anew, and dropping the old one takes pages and visits along.
    for table in ("crawl", "capture_target"):
        op.drop_column(table, "organization")
