"""Commitments: a random nonce for each job, and the digest of the experiment, the seed and the nonce."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add both columns; jobs from before have neither."""
    for column in optional(sa.Text, "nonce", "commitment"):
        op.add_column("jobs", column)
