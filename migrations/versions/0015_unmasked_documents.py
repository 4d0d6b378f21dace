"""Whole documents: a rating of recorded decisions as its owner sees it; the public one masks small counts of people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; ratings from before have no other form than their document."""
    op.add_column("ratings", sa.Column("unmasked", sa.LargeBinary))
