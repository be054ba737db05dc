"""The price of a visit, which divides the day's visits among watched pages."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcMillis

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "watch_price",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("days", sa.Double, nullable=False),
        sa.Column("correction", sa.Double, nullable=False),
        sa.Column("shape", sa.Double, nullable=False),
        sa.Column("exposure_days", sa.Double, nullable=False),
        sa.Column("fitted_at", UtcMillis, nullable=False),
        sa.Column("visit_id", NUMBER, nullable=False),
        sa.Column("pages", NUMBER, nullable=False),
        sa.Column("visits_a_day", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("watch_price")
