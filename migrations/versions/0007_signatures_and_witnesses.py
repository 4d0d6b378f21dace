"""Ratings that wait for their signature, cosignatures of the log's heads, and heads of other logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "unsigned_ratings",
        *required(sa.Text, "rating_id"),
        *required(sa.BigInteger, "next_attempt_at"),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_unsigned_ratings_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_unsigned_ratings"),
    )
    op.create_index("ix_unsigned_ratings_next_attempt_at", "unsigned_ratings", ["next_attempt_at"])
    op.create_table(
        "cosignatures",
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False),
        *required(sa.Text, "witness", "line"),
        *required(sa.BigInteger, "created_at"),
        sa.PrimaryKeyConstraint("origin", "size", "witness", name="pk_cosignatures"),
    )
    op.create_table(
        "witnessed_logs",
        sa.Column("origin", sa.Text(), nullable=False),
        *required(sa.BigInteger, "size"),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        *required(sa.BigInteger, "updated_at"),
        sa.PrimaryKeyConstraint("origin", name="pk_witnessed_logs"),
    )
