"""API keys, sessions and webhooks; targets, uploads, specifications and corpora."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required


def create() -> None:
    """Create the tables and their indexes."""
    _keys()
    _sessions()
    _webhooks()
    _deliveries()
    _targets()
    _uploads()
    _corpora()
    _items()


def _keys() -> None:
    """Create the tables of API keys and idempotency keys."""
    op.create_table(
        "api_keys",
        *required(sa.Text, "id", "tenant", "name", "short"),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        *optional(sa.BigInteger, "expires_at", "revoked_at", "last_used_at"),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("short", name="uq_api_keys_short"),
    )
    op.create_index("ix_api_keys_tenant_created_at_id", "api_keys", ["tenant", "created_at", "id"])
    op.create_table(
        "idempotency",
        *required(sa.Text, "scope", "key", "payload_digest"),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", sa.Text()),
        sa.Column("body", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_began_at", "idempotency", ["began_at"])


def _sessions() -> None:
    """Create the tables of sessions of people on pages, and of drafts of their forms."""
    op.create_table(
        "sessions",
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text()),
        *required(sa.BigInteger, "seen_at", "expires_at"),
        *optional(sa.Text, "rule", "subject"),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name="fk_sessions_key_id"),
        sa.PrimaryKeyConstraint("digest", name="pk_sessions"),
    )
    for columns in (["key_id", "expires_at"], ["subject", "rule", "expires_at"], ["expires_at"], ["seen_at"]):
        op.create_index(f"ix_sessions_{'_'.join(columns)}", "sessions", columns)
    op.create_table(
        "drafts",
        sa.Column("id", sa.Text(), nullable=False),
        *required(sa.Text, "tenant", "key_id"),
        *required(sa.LargeBinary, "ciphertext", "nonce"),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_drafts"),
    )
    op.create_index("ix_drafts_tenant_expires_at", "drafts", ["tenant", "expires_at"])
    op.create_index("ix_drafts_expires_at", "drafts", ["expires_at"])


def _webhooks() -> None:
    """Create the table of webhooks."""
    op.create_table(
        "webhooks",
        *required(sa.Text, "id", "tenant", "url", "description", "events", "envelope", "state"),
        sa.Column("disabled_why", sa.Text()),
        sa.Column("failing_since", sa.BigInteger()),
        *required(sa.LargeBinary, "secret_ciphertext", "secret_nonce"),
        *required(sa.Text, "secret_key_id", "secret_last4"),
        *optional(sa.LargeBinary, "previous_ciphertext", "previous_nonce"),
        sa.Column("previous_key_id", sa.Text()),
        sa.Column("previous_until", sa.BigInteger()),
        sa.Column("version", sa.Integer(), nullable=False),
        *required(sa.BigInteger, "created_at", "updated_at"),
        *optional(sa.BigInteger, "removed_at", "confirmed_at"),
        sa.CheckConstraint("envelope IN ('standard', 'cloudevents')", name="ck_webhooks_envelope_is_known"),
        sa.CheckConstraint("state IN ('enabled', 'disabled')", name="ck_webhooks_state_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_tenant_created_at_id", "webhooks", ["tenant", "created_at", "id"])


def _deliveries() -> None:
    """Create the tables of deliveries and attempts."""
    op.create_table(
        "deliveries",
        *required(sa.Text, "id", "tenant"),
        sa.Column("webhook_id", sa.Text()),
        sa.Column("outbox_id", sa.BigInteger()),
        *required(sa.Text, "url", "type", "payload", "state"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        *required(sa.BigInteger, "created_at", "next_attempt_at"),
        *optional(sa.BigInteger, "lease_until", "ended_at"),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="ck_deliveries_state_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
        sa.UniqueConstraint("outbox_id", "webhook_id", name="uq_deliveries_outbox_id_webhook_id"),
    )
    op.create_index("ix_deliveries_state_next_attempt_at", "deliveries", ["state", "next_attempt_at"])
    op.create_index("ix_deliveries_tenant_created_at_id", "deliveries", ["tenant", "created_at", "id"])
    op.create_index("ix_deliveries_webhook_id_created_at_id", "deliveries", ["webhook_id", "created_at", "id"])
    op.create_table(
        "delivery_attempts",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("elapsed_ms", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        *optional(sa.Text, "failure", "response"),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["deliveries.id"], name="fk_delivery_attempts_delivery_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("delivery_id", "number", name="pk_delivery_attempts"),
    )


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
