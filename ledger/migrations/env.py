"""Alembic's entry: runs revisions over the connection that `ledger.store.migrate` hands in."""

from alembic import context

from ledger.store import (  # noqa: F401 - their tables belong to the schema
    models_artifacts,
    models_events,
    models_extraction,
    models_gate,
    models_identity,
    models_price,
    models_sitemaps,
    models_telling,
    models_watch,
    models_watch_queue,
)
from ledger.store.models import Base

connection = context.config.attributes.get("connection")
if connection is None:
    raise RuntimeError("migrations run inside the ledger: start it with `python -m ledger`")

context.configure(connection=connection, target_metadata=Base.metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
