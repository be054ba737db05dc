"""Tokens of people and programs; targets and start keys by organisation."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

NAMES = {"uq": "%(table_name)s_%(column_0_name)s_key", "pk": "%(table_name)s_pkey"}
"""SQLite keeps no names of constraints; these are the ones that PostgreSQL gives by itself."""


def upgrade() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("organizations", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("last_used_at", UtcTime(), nullable=True),
        sa.Column("revoked_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    with op.batch_alter_table("capture_target", naming_convention=NAMES) as batch:
        batch.drop_constraint("capture_target_url_key", type_="unique")
        batch.create_unique_constraint("capture_target_organization_url_key", ["organization", "url"])
    with op.batch_alter_table("start_key", naming_convention=NAMES) as batch:
        batch.add_column(sa.Column("organization", sa.String(length=64), nullable=False, server_default="default"))
        batch.drop_constraint("start_key_pkey", type_="primary")
        batch.create_primary_key("start_key_pkey", ["organization", "subject", "key"])


def downgrade() -> None:
    # What two organisations share stays with the first of them: the older schema has room for one.
    op.execute(
        "DELETE FROM capture_target WHERE EXISTS (SELECT 1 FROM capture_target AS earlier"
        " WHERE earlier.url = capture_target.url AND earlier.position < capture_target.position)"
    )
    op.execute(
        "DELETE FROM start_key WHERE EXISTS (SELECT 1 FROM start_key AS earlier"
        " WHERE earlier.subject = start_key.subject AND earlier.key = start_key.key"
        " AND earlier.organization < start_key.organization)"
    )
    with op.batch_alter_table("start_key", naming_convention=NAMES) as batch:
        batch.drop_constraint("start_key_pkey", type_="primary")
        batch.create_primary_key("start_key_pkey", ["subject", "key"])
        batch.drop_column("organization")
    with op.batch_alter_table("capture_target", naming_convention=NAMES) as batch:
        batch.drop_constraint("capture_target_organization_url_key", type_="unique")
        batch.create_unique_constraint("capture_target_url_key", ["url"])
    op.drop_table("api_token")
