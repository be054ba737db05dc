"""How each attempt at a level ended, and why. Of those before, only the crawl's own error tells."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("level", sa.Column("ended_as", sa.String(16), nullable=True))
    op.add_column("level", sa.Column("ended_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("level") as batch:
        batch.drop_column("ended_reason")
        batch.drop_column("ended_as")
