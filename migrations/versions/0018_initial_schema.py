"""Initial schema.

Its id is that of the last of the 18 migrations that it replaces, so that a database at their head stays current.
"""

from __future__ import annotations

from alembic import op

from migrations.initial.ratings import METADATA

revision = "0018"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    METADATA.create_all(op.get_bind(), checkfirst=False)
