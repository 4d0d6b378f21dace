"""Runs of watches, and the changes of services that they noticed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the tables."""
    job = sa.ForeignKey("jobs.id", name="fk_sentinel_runs_job_id", ondelete="CASCADE")
    op.create_table(
        "sentinel_runs",
        sa.Column("job_id", sa.Text(), job, nullable=False),
        *required(sa.Text, "schedule_id", "rating_id", "outcomes", "reference"),
        *required(sa.Integer, "number"),
        *required(sa.BigInteger, "seed", "ran_at"),
        *required(sa.Float, "log_e"),
        sa.PrimaryKeyConstraint("job_id", name="pk_sentinel_runs"),
    )
    key = ("schedule_id", "rating_id", "number")
    op.create_index(f"ix_sentinel_runs_{'_'.join(key)}", "sentinel_runs", key, unique=True)
    rating = sa.ForeignKey("ratings.id", name="fk_service_changes_rating_id")
    op.create_table(
        "service_changes",
        sa.Column("rating_id", sa.Text(), rating, nullable=False),
        *required(sa.Text, "job_id", "rerating_job_id"),
        *required(sa.BigInteger, "since", "noticed_at"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_service_changes"),
    )
