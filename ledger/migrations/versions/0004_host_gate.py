"""The host gate: leases, what hosts asked for, and under which lease a visit was made."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

LIVE = sa.text("ended_at IS NULL")


def upgrade() -> None:
    op.create_table(
        "host_lease",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("holder_kind", sa.String(16), nullable=False),
        sa.Column("holder_key", sa.String(80), nullable=False),
        sa.Column("holder_attempt", sa.Integer(), nullable=False),
        sa.Column("granted_at", UtcTime(), nullable=False),
        sa.Column("wait_ms", sa.Integer(), nullable=False),
        sa.Column("gap_ms", sa.Integer(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.Column("ending", sa.String(16), nullable=True),
        sa.Column("released_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "host_lease_live", "host_lease", ["holder_kind", "holder_key"], sqlite_where=LIVE, postgresql_where=LIVE
    )
    op.create_index("host_lease_ended_at", "host_lease", ["ended_at"])
    with op.batch_alter_table("host") as batch:
        batch.alter_column("last_touched_at", existing_type=UtcTime(), nullable=True)
        batch.add_column(sa.Column("crawl_delay_ms", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("crawl_delay_heard_at", UtcTime(), nullable=True))
        batch.add_column(sa.Column("rests_until", UtcTime(), nullable=True))
        batch.add_column(sa.Column("lease_id", sa.String(32), nullable=True))
        batch.add_column(sa.Column("waiting", sa.JSON(), nullable=True))
    op.add_column("visit", sa.Column("host", sa.Text(), nullable=False, server_default=""))
    op.add_column("visit", sa.Column("lease_id", sa.String(32), nullable=True))
    op.add_column("visit", sa.Column("waited_ms", sa.Integer(), nullable=True))
    op.execute("UPDATE visit SET host = (SELECT page.host FROM page WHERE page.id = visit.page_id)")
    op.create_index("visit_host", "visit", ["host", "received_at"])


def downgrade() -> None:
    op.drop_index("visit_host", "visit")
    for column in ("waited_ms", "lease_id", "host"):
        op.drop_column("visit", column)
    op.execute("DELETE FROM host WHERE last_touched_at IS NULL")
    with op.batch_alter_table("host") as batch:
        for column in ("waiting", "lease_id", "rests_until", "crawl_delay_heard_at", "crawl_delay_ms"):
            batch.drop_column(column)
        batch.alter_column("last_touched_at", existing_type=UtcTime(), nullable=False)
    op.drop_table("host_lease")
