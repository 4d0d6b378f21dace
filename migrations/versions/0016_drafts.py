"""Drafts of forms, so that going back and reloading lose nothing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "drafts",
        sa.Column("id", sa.Text(), nullable=False),
        *required(sa.Text, "tenant", "key_id"),
        *required(sa.LargeBinary, "ciphertext", "nonce"),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_drafts"),
    )
    op.create_index("ix_drafts_tenant_expires_at", "drafts", ["tenant", "expires_at"])
    op.create_index("ix_drafts_expires_at", "drafts", ["expires_at"])
