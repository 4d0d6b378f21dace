"""Initial schema.

Its id is that of the last of the 18 migrations that it replaces, so that a database at their head stays current.
"""

from __future__ import annotations

from migrations.initial import contents, ratings

revision = "0018"
down_revision = None


def upgrade() -> None:
    """Create all tables; those of jobs and ratings first, because others refer to them."""
    for tables in (ratings, contents):
        tables.create()
