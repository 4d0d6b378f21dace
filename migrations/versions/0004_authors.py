"""Authors of jobs: services that generate the sentences or pictures for a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the author of a job."""
    op.add_column("jobs", sa.Column("author", sa.Text()))
