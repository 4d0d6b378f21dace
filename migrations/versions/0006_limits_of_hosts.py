"""Limits of rated hosts: turns of jobs, refusals of ratings, and the reason why a job waits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables, and add the columns of jobs and domains."""
    op.add_column("jobs", sa.Column("waits_why", sa.Text()))
    with op.batch_alter_table("domains") as domains:
        domains.add_column(sa.Column("ratings", sa.Text(), nullable=False, server_default="allowed"))
        domains.create_check_constraint("ck_domains_ratings_are_known", "ratings IN ('allowed', 'refused')")
    op.create_index("ix_domains_host", "domains", ["host"])
    op.create_table(
        "host_turns",
        *required(sa.Text, "job_id", "host"),
        sa.Column("admitted_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_host_turns_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "host", name="pk_host_turns"),
    )
    op.create_index("ix_host_turns_host", "host_turns", ["host"])
    op.create_table(
        "refusal_files",
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("refuses", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("url", name="pk_refusal_files"),
    )
