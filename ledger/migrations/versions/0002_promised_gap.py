"""The promised gap of a visit, for databases that were made before the first schema held it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if "promised_gap_ms" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("visit")}:
        op.add_column("visit", sa.Column("promised_gap_ms", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Nothing: the first schema holds the column."""
