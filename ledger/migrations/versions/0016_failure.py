"""Which kind of failure a page had."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("page", sa.Column("failure", sa.String(16)))


def downgrade() -> None:
    op.drop_column("page", "failure")
