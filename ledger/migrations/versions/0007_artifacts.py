"""Late manifests, the text of pages, and the database's own full-text index over it."""

import sqlalchemy as sa
from alembic import op

from ledger.store.types import UtcTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SQLITE_INDEX = (
    # Terms are cut by our own rule and joined by spaces: the `ascii` tokenizer splits there and nowhere else.
    """CREATE VIRTUAL TABLE page_text_fts
       USING fts5(terms, content='page_text', content_rowid='id', tokenize='ascii')""",
    """CREATE TRIGGER page_text_added AFTER INSERT ON page_text BEGIN
         INSERT INTO page_text_fts(rowid, terms) VALUES (new.id, new.terms);
       END""",
    """CREATE TRIGGER page_text_removed AFTER DELETE ON page_text BEGIN
         INSERT INTO page_text_fts(page_text_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
       END""",
    """CREATE TRIGGER page_text_changed AFTER UPDATE OF terms ON page_text BEGIN
         INSERT INTO page_text_fts(page_text_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
         INSERT INTO page_text_fts(rowid, terms) VALUES (new.id, new.terms);
       END""",
)
POSTGRESQL_INDEX = (
    """CREATE TABLE page_text_fts (
         id integer PRIMARY KEY REFERENCES page_text (id) ON DELETE CASCADE,
         vector tsvector NOT NULL)""",
    "CREATE INDEX page_text_fts_vector ON page_text_fts USING gin (vector)",
    """CREATE FUNCTION page_text_vector() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         INSERT INTO page_text_fts (id, vector)
         VALUES (new.id, array_to_tsvector(array_remove(string_to_array(new.terms, ' '), '')))
         ON CONFLICT (id) DO UPDATE SET vector = excluded.vector;
         RETURN NULL;
       END $$""",
    """CREATE TRIGGER page_text_written AFTER INSERT OR UPDATE OF terms ON page_text
       FOR EACH ROW EXECUTE FUNCTION page_text_vector()""",
)


def upgrade() -> None:
    op.create_table(
        "late_manifest",
        sa.Column("page_id", sa.String(32), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("marked_at", UtcTime(), nullable=False),
        sa.Column("next_look_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("page_id"),
    )
    op.create_index("late_manifest_next_look", "late_manifest", ["next_look_at"])
    op.create_table(
        "page_text",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("page_id", sa.String(32), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("problem", sa.String(300), nullable=True),
        sa.Column("indexed_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("page_id"),
    )
    op.create_index("page_state_settled", "page", ["state", "settled_at", "id"])
    op.create_index("visit_task", "visit", ["task_id"])
    for statement in POSTGRESQL_INDEX if op.get_bind().dialect.name == "postgresql" else SQLITE_INDEX:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE page_text_fts")
    op.drop_index("visit_task", "visit")
    op.drop_index("page_state_settled", "page")
    op.drop_table("page_text")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION page_text_vector()")
    op.drop_table("late_manifest")
