"""What a crawl keeps in bytes, its first seeds for lists, an index that finds the last failures, closings in short."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

FIRST_SEEDS = 5


def upgrade() -> None:
    op.add_column("crawl", sa.Column("seed_count", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("crawl", sa.Column("first_seeds", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("crawl", sa.Column("kept_bytes", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_index("page_crawl_state_settled", "page", ["crawl_id", "state", "settled_at", "position"], unique=False)
    op.drop_index("page_crawl_state", table_name="page")
    op.add_column("closing", sa.Column("stop_reason", sa.String(16), nullable=True))
    _fill()
    _closings()
    op.drop_column("closing", "answer")


def _fill() -> None:
    """One crawl at a time: together their seeds may not fit into memory."""
    crawl = sa.table(
        "crawl",
        sa.column("id", sa.String()),
        sa.column("seeds", sa.JSON()),
        sa.column("seed_count", sa.Integer()),
        sa.column("first_seeds", sa.JSON()),
    )
    connection = op.get_bind()
    for ident in connection.scalars(sa.select(crawl.c.id)).all():
        seeds = connection.scalar(sa.select(crawl.c.seeds).where(crawl.c.id == ident)) or []
        connection.execute(
            crawl.update().where(crawl.c.id == ident).values(seed_count=len(seeds), first_seeds=seeds[:FIRST_SEEDS])
        )


def _closings() -> None:
    """Of an answer only the reason stays; its pages are those of the next level."""
    closing = sa.table(
        "closing",
        sa.column("crawl_id", sa.String()),
        sa.column("depth", sa.Integer()),
        sa.column("answer", sa.JSON()),
        sa.column("stop_reason", sa.String()),
    )
    connection = op.get_bind()
    for crawl_id, depth in connection.execute(sa.select(closing.c.crawl_id, closing.c.depth)).all():
        this = (closing.c.crawl_id == crawl_id, closing.c.depth == depth)
        answer = connection.scalar(sa.select(closing.c.answer).where(*this)) or {}
        connection.execute(closing.update().where(*this).values(stop_reason=answer.get("stopReason")))


def _answers() -> None:
    closing = sa.table(
        "closing",
        sa.column("crawl_id", sa.String()),
        sa.column("depth", sa.Integer()),
        sa.column("answer", sa.JSON()),
        sa.column("stop_reason", sa.String()),
    )
    page = sa.table("page", *(sa.column(name) for name in ("crawl_id", "depth", "position", "url", "host")))
    connection = op.get_bind()
    for crawl_id, depth, reason in connection.execute(
        sa.select(closing.c.crawl_id, closing.c.depth, closing.c.stop_reason)
    ).all():
        pages = connection.execute(
            sa.select(page.c.url, page.c.host)
            .where(page.c.crawl_id == crawl_id, page.c.depth == depth + 1)
            .order_by(page.c.position)
        )
        following = [{"url": url, "host": host, "depth": depth + 1} for url, host in pages]
        connection.execute(
            closing.update()
            .where(closing.c.crawl_id == crawl_id, closing.c.depth == depth)
            .values(answer={"next": following, "stopReason": reason})
        )


def downgrade() -> None:
    op.add_column("closing", sa.Column("answer", sa.JSON(), nullable=False, server_default="{}"))
    _answers()
    op.drop_column("closing", "stop_reason")
    op.create_index("page_crawl_state", "page", ["crawl_id", "state"], unique=False)
    op.drop_index("page_crawl_state_settled", table_name="page")
    for column in ("kept_bytes", "first_seeds", "seed_count"):
        op.drop_column("crawl", column)
