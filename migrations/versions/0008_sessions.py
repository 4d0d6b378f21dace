"""Sessions of people who signed in on a page."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "sessions",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        *required(sa.Text, "key_id"),
        *required(sa.BigInteger, "seen_at", "expires_at"),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name="fk_sessions_key_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    op.create_index("ix_sessions_key_id", "sessions", ["key_id"])
