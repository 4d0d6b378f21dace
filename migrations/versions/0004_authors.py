"""A job may have an author: a second service that writes or draws what the first is asked about."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Jobs can name an author."""
    op.add_column("jobs", sa.Column("author", sa.Text()))


def downgrade() -> None:
    """Forget authors."""
    with op.batch_alter_table("jobs") as jobs:
        jobs.drop_column("author")
