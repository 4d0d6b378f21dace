"""Entry point for Alembic: migrate in the connection and transaction of `store.core.migrate`."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], target_metadata=None)
context.run_migrations()
