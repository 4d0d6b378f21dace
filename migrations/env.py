"""Run by Alembic: migrate on the connection, and inside the transaction, that `store.core.migrate` brings."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], target_metadata=None)
context.run_migrations()
