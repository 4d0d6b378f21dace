"""Fair shares: slots of workers, indexes for turns of tenants."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Create the tables and indexes."""
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("alive_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_index("ix_jobs_status_tenant_next_run_at_id", "jobs", ["status", "tenant", "next_run_at", "id"])
    op.create_index("ix_jobs_tenant_started_at", "jobs", ["tenant", "started_at"])


def downgrade() -> None:
    """Drop the tables and indexes."""
    op.drop_index("ix_jobs_tenant_started_at", "jobs")
    op.drop_index("ix_jobs_status_tenant_next_run_at_id", "jobs")
    op.drop_table("workers")
