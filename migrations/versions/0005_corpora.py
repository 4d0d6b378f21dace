"""Corpora, their items and images, and specifications of stereotypes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the tables, and allow specifications of stereotypes."""
    kinds = "ck_specifications_kind_is_known"
    with op.batch_alter_table("specifications") as specifications:
        specifications.drop_constraint(kinds, type_="check")
        specifications.create_check_constraint(kinds, "kind IN ('choices', 'association', 'stereotype', 'visual')")
    _corpora()
    _items()


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
        sa.PrimaryKeyConstraint("tenant", "digest", name="pk_images"),
    )
