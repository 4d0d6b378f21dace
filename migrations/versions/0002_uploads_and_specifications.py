"""Uploads (content in chunks) and versioned specifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import required

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "uploads",
        *required(sa.Text, "id", "tenant", "name", "purpose", "media_type", "digest"),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("purpose IN ('table', 'embedding', 'trials')", name="ck_uploads_purpose_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.UniqueConstraint("tenant", "digest", "purpose", name="uq_uploads_tenant_digest_purpose"),
    )
    op.create_index("ix_uploads_tenant_created_at_id", "uploads", ["tenant", "created_at", "id"])
    op.create_table(
        "upload_chunks",
        sa.Column("upload_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], name="fk_upload_chunks_upload_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("upload_id", "place", name="pk_upload_chunks"),
    )
    op.create_table(
        "specifications",
        *required(sa.Text, "tenant", "name"),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        *required(sa.Text, "title", "kind", "language", "citation"),
        sa.Column("words", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger()),
        sa.CheckConstraint("kind IN ('choices', 'association')", name="ck_specifications_kind_is_known"),
        sa.PrimaryKeyConstraint("tenant", "name", "version", name="pk_specifications"),
    )
    op.create_index("ix_specifications_tenant_created_at_name", "specifications", ["tenant", "created_at", "name"])
