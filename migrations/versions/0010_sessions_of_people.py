"""Sessions of people with an account: the mark of their rule instead of a key, and their identifier."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Allow sessions with a rule instead of a key."""
    with op.batch_alter_table("sessions") as sessions:
        sessions.alter_column("key_id", existing_type=sa.Text(), nullable=True)
        for column in optional(sa.Text, "rule", "subject"):
            sessions.add_column(column)
