"""Alembic migrations: the schema's history, one file a step."""
