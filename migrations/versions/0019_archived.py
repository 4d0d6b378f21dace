"""Jobs whose observations are in an archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the table."""
    job = sa.Column("job_id", sa.Text(), sa.ForeignKey("jobs.id", ondelete="CASCADE", name="fk_archived_job_id"))
    texts = required(sa.Text, "month", "location", "file", "digest")
    key = sa.PrimaryKeyConstraint("job_id", name="pk_archived")
    op.create_table("archived", job, *texts, *required(sa.BigInteger, "start", "size"), key)
