"""Targets, uploads, specifications and corpora."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required


def create() -> None:
    """Create the tables and their indexes."""
    _targets()
    _uploads()
    _corpora()
    _items()


def _targets() -> None:
    """Create the table of targets."""
    op.create_table(
        "targets",
        *required(sa.Text, "id", "tenant", "name", "kind", "protocol", "base_url", "settings", "limits", "visibility"),
        *optional(sa.LargeBinary, "secret_ciphertext", "secret_nonce"),
        *optional(sa.Text, "secret_key_id", "secret_last4"),
        sa.Column("version", sa.Integer(), nullable=False),
        *required(sa.BigInteger, "created_at", "updated_at"),
        sa.Column("removed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_targets"),
    )
    op.create_index("ix_targets_tenant_created_at_id", "targets", ["tenant", "created_at", "id"])


def _uploads() -> None:
    """Create the tables of uploads, their content in chunks, and versioned specifications."""
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
        sa.CheckConstraint(
            "kind IN ('choices', 'association', 'stereotype', 'visual')", name="ck_specifications_kind_is_known"
        ),
        sa.PrimaryKeyConstraint("tenant", "name", "version", name="pk_specifications"),
    )
    op.create_index("ix_specifications_tenant_created_at_name", "specifications", ["tenant", "created_at", "name"])


def _corpora() -> None:
    """Create the table of corpora."""
    op.create_table(
        "corpora",
        *required(sa.Text, "id", "tenant", "kind", "name", "language", "attribute"),
        sa.Column("specification", sa.Text()),
        sa.Column("specification_version", sa.Integer()),
        sa.Column("specification_digest", sa.Text()),
        sa.Column("words", sa.LargeBinary()),
        *required(sa.Text, "licence", "citation", "description", "visibility"),
        sa.Column("version", sa.Integer(), nullable=False),
        *required(sa.BigInteger, "created_at", "updated_at"),
        sa.Column("removed_at", sa.BigInteger()),
        sa.CheckConstraint("kind IN ('sentences', 'images')", name="ck_corpora_kind_is_known"),
        sa.CheckConstraint("visibility IN ('private', 'shared')", name="ck_corpora_visibility_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_corpora"),
    )
    op.create_index("ix_corpora_tenant_created_at_id", "corpora", ["tenant", "created_at", "id"])
    op.create_index("ix_corpora_visibility_created_at_id", "corpora", ["visibility", "created_at", "id"])


def _items() -> None:
    """Create the tables of items and images."""
    op.create_table(
        "corpus_items",
        *required(sa.Text, "id", "corpus_id"),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        *optional(sa.Text, "text", "group_term", "attribute_term", "counterpart", "image", "term"),
        *required(sa.Text, "source", "provenance"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger()),
        sa.CheckConstraint("(text IS NULL) <> (image IS NULL)", name="ck_corpus_items_a_text_or_an_image"),
        sa.CheckConstraint(
            "source IN ('written', 'uploaded', 'template', 'edited')", name="ck_corpus_items_source_is_known"
        ),
        sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], name="fk_corpus_items_corpus_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_corpus_items"),
        sa.UniqueConstraint("corpus_id", "seq", name="uq_corpus_items_corpus_id_seq"),
        sa.UniqueConstraint("corpus_id", "digest", name="uq_corpus_items_corpus_id_digest"),
    )
    op.create_index("ix_corpus_items_image", "corpus_items", ["image"])
    op.create_table(
        "images",
        *required(sa.Text, "tenant", "digest", "media_type"),
        *required(sa.Integer, "width", "height", "size"),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("thumbnail", sa.Text()),
        sa.PrimaryKeyConstraint("tenant", "digest", name="pk_images"),
    )
