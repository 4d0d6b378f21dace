"""Runs of watches, and the changes of services that they noticed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "sentinel_runs",
        sa.Column("job_id", sa.Text(), nullable=False),
        *required(sa.Text, "schedule_id", "rating_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        *required(sa.Text, "outcomes", "reference"),
        sa.Column("log_e", sa.Float(), nullable=False),
        sa.Column("ran_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="pk_sentinel_runs"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_sentinel_runs_job_id", ondelete="CASCADE"),
    )
    name = "ix_sentinel_runs_schedule_id_rating_id_number"
    op.create_index(name, "sentinel_runs", ["schedule_id", "rating_id", "number"], unique=True)
    op.create_table(
        "service_changes",
        *required(sa.Text, "rating_id", "job_id", "rerating_job_id"),
        *required(sa.BigInteger, "since", "noticed_at"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_service_changes"),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_service_changes_rating_id"),
    )
