"""Jobs whose observations are in an archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the table."""
    job = sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE", name="fk_archived_job_id"))
    columns = *required(sa.Text, "month", "location", "file", "digest"), *required(sa.BigInteger, "start", "size")
    op.create_table("archived", job, *columns, sa.PrimaryKeyConstraint("job_id", name="pk_archived"))
