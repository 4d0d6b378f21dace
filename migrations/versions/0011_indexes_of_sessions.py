"""Indexes of sessions: by owner, and by the times that end them."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"

INDEXES = (["key_id", "expires_at"], ["subject", "rule", "expires_at"], ["expires_at"], ["seen_at"])


def upgrade() -> None:
    """Replace the index by key."""
    op.drop_index("ix_sessions_key_id", "sessions")
    for columns in INDEXES:
        op.create_index(f"ix_sessions_{'_'.join(columns)}", "sessions", columns)
