"""Channels that tell what was found on watched pages, their messages, and feeds."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcMillis

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
WAITING = sa.text("state = 'waiting'")


def upgrade() -> None:
    op.create_table(
        "watch_channel",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("secret", sa.LargeBinary),
        sa.Column("old_secret", sa.LargeBinary),
        sa.Column("old_secret_until", UtcMillis),
        sa.Column("list_id", sa.String(32), sa.ForeignKey("watch_list.id", ondelete="CASCADE")),
        sa.Column("page_id", NUMBER, sa.ForeignKey("watch_page.id", ondelete="CASCADE")),
        sa.Column("kinds", sa.JSON, nullable=False),
        sa.Column("quiet", sa.JSON),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("created_at", UtcMillis, nullable=False),
        sa.Column("look_at", UtcMillis),
        sa.Column("last_sent_at", UtcMillis),
        sa.Column("last_problem", sa.Text),
    )
    op.create_index("watch_channel_organization", "watch_channel", ["organization", "created_at"])
    op.create_index("watch_channel_look", "watch_channel", ["look_at"])
    op.create_table(
        "watch_message",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("channel_id", sa.String(32), sa.ForeignKey("watch_channel.id", ondelete="CASCADE"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", UtcMillis, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("next_try_at", UtcMillis),
        sa.Column("sent_at", UtcMillis),
        sa.Column("problem", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("watch_message_channel", "watch_message", ["channel_id", "id"])
    op.create_index(
        "watch_message_due", "watch_message", ["next_try_at"], sqlite_where=WAITING, postgresql_where=WAITING
    )
    op.create_table(
        "watch_telling",
        sa.Column("channel_id", sa.String(32), sa.ForeignKey("watch_channel.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("event_id", NUMBER, sa.ForeignKey("watch_event.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("message_id", NUMBER, sa.ForeignKey("watch_message.id", ondelete="CASCADE")),
        sa.Column("mended", sa.Boolean, nullable=False),
    )
    op.create_index("watch_telling_waiting", "watch_telling", ["channel_id", "message_id", "event_id"])
    op.create_index("watch_telling_event", "watch_telling", ["event_id"])
    op.create_table(
        "watch_feed",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("organization", sa.String(64), nullable=False),
        sa.Column("list_id", sa.String(32), sa.ForeignKey("watch_list.id", ondelete="CASCADE")),
        sa.Column("page_id", NUMBER, sa.ForeignKey("watch_page.id", ondelete="CASCADE")),
        sa.Column("created_at", UtcMillis, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("last_read_at", UtcMillis),
    )
    op.create_index("watch_feed_organization", "watch_feed", ["organization", "created_at"])


def downgrade() -> None:
    for table in ("watch_feed", "watch_telling", "watch_message", "watch_channel"):
        op.drop_table(table)
