"""Small pictures for reports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column; images that are stored already have none."""
    op.add_column("images", sa.Column("thumbnail", sa.Text()))
