"""API keys, sessions and webhooks; targets, uploads, specifications and corpora."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from migrations.columns import NAMES, optional, required

METADATA = sa.MetaData(naming_convention=NAMES)
"""All tables of the initial schema."""


def table(name: str, *parts: SchemaItem, sqlite_autoincrement: bool = False) -> None:
    """Add a table to `METADATA`."""
    sa.Table(name, METADATA, *parts, sqlite_autoincrement=sqlite_autoincrement)


# API keys and idempotency keys.

table(
    "api_keys",
    *required(sa.Text, "id", "tenant", "name", "short"),
    sa.Column("digest", sa.LargeBinary(), nullable=False),
    sa.Column("scopes", sa.Text(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    *optional(sa.BigInteger, "expires_at", "revoked_at", "last_used_at"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("short"),
    sa.Index(None, "tenant", "created_at", "id"),
)

table(
    "idempotency",
    *required(sa.Text, "scope", "key", "payload_digest"),
    sa.Column("began_at", sa.BigInteger(), nullable=False),
    sa.Column("status", sa.Integer()),
    sa.Column("headers", sa.Text()),
    sa.Column("body", sa.LargeBinary()),
    sa.PrimaryKeyConstraint("scope", "key"),
    sa.Index(None, "began_at"),
)

# Sessions of people on pages, and of drafts of their forms.

table(
    "sessions",
    sa.Column("digest", sa.LargeBinary(), primary_key=True),
    sa.Column("key_id", sa.Text()),
    *required(sa.BigInteger, "seen_at", "expires_at"),
    *optional(sa.Text, "rule", "subject"),
    sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"]),
    sa.Index(None, "key_id", "expires_at"),
    sa.Index(None, "subject", "rule", "expires_at"),
    sa.Index(None, "expires_at"),
    sa.Index(None, "seen_at"),
)

table(
    "drafts",
    sa.Column("id", sa.Text(), primary_key=True),
    *required(sa.Text, "tenant", "key_id"),
    *required(sa.LargeBinary, "ciphertext", "nonce"),
    sa.Column("expires_at", sa.BigInteger(), nullable=False),
    sa.Index(None, "tenant", "expires_at"),
    sa.Index(None, "expires_at"),
)

# Webhooks.

table(
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
    sa.CheckConstraint("envelope IN ('standard', 'cloudevents')", name="envelope_is_known"),
    sa.CheckConstraint("state IN ('enabled', 'disabled')", name="state_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "tenant", "created_at", "id"),
)

# Deliveries and attempts.

table(
    "deliveries",
    *required(sa.Text, "id", "tenant"),
    sa.Column("webhook_id", sa.Text()),
    sa.Column("outbox_id", sa.BigInteger()),
    *required(sa.Text, "url", "type", "payload", "state"),
    sa.Column("attempts", sa.Integer(), nullable=False),
    *required(sa.BigInteger, "created_at", "next_attempt_at"),
    *optional(sa.BigInteger, "lease_until", "ended_at"),
    sa.CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("outbox_id", "webhook_id"),
    sa.Index(None, "state", "next_attempt_at"),
    sa.Index(None, "tenant", "created_at", "id"),
    sa.Index(None, "webhook_id", "created_at", "id"),
)

table(
    "delivery_attempts",
    sa.Column("delivery_id", sa.Text(), nullable=False),
    sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("at", sa.BigInteger(), nullable=False),
    sa.Column("elapsed_ms", sa.Integer(), nullable=False),
    sa.Column("status", sa.Integer()),
    *optional(sa.Text, "failure", "response"),
    sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("delivery_id", "number"),
)

# Targets.

table(
    "targets",
    *required(sa.Text, "id", "tenant", "name", "kind", "protocol", "base_url", "settings", "limits", "visibility"),
    *optional(sa.LargeBinary, "secret_ciphertext", "secret_nonce"),
    *optional(sa.Text, "secret_key_id", "secret_last4"),
    sa.Column("version", sa.Integer(), nullable=False),
    *required(sa.BigInteger, "created_at", "updated_at"),
    sa.Column("removed_at", sa.BigInteger()),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "tenant", "created_at", "id"),
)

# Uploads, their content in chunks, and versioned specifications.

table(
    "uploads",
    *required(sa.Text, "id", "tenant", "name", "purpose", "media_type", "digest"),
    sa.Column("bytes", sa.BigInteger(), nullable=False),
    sa.Column("summary", sa.LargeBinary(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.CheckConstraint("purpose IN ('table', 'embedding', 'trials')", name="purpose_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("tenant", "digest", "purpose"),
    sa.Index(None, "tenant", "created_at", "id"),
)

table(
    "upload_chunks",
    sa.Column("upload_id", sa.Text(), nullable=False),
    sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("content", sa.LargeBinary(), nullable=False),
    sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("upload_id", "place"),
)

table(
    "specifications",
    *required(sa.Text, "tenant", "name"),
    sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
    *required(sa.Text, "title", "kind", "language", "citation"),
    sa.Column("words", sa.LargeBinary(), nullable=False),
    sa.Column("digest", sa.Text(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("removed_at", sa.BigInteger()),
    sa.CheckConstraint("kind IN ('choices', 'association', 'stereotype', 'visual')", name="kind_is_known"),
    sa.PrimaryKeyConstraint("tenant", "name", "version"),
    sa.Index(None, "tenant", "created_at", "name"),
)

# Corpora.

table(
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
    sa.CheckConstraint("kind IN ('sentences', 'images')", name="kind_is_known"),
    sa.CheckConstraint("visibility IN ('private', 'shared')", name="visibility_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "tenant", "created_at", "id"),
    sa.Index(None, "visibility", "created_at", "id"),
)

# Items and images.

table(
    "corpus_items",
    *required(sa.Text, "id", "corpus_id"),
    sa.Column("seq", sa.Integer(), nullable=False),
    sa.Column("digest", sa.Text(), nullable=False),
    *optional(sa.Text, "text", "group_term", "attribute_term", "counterpart", "image", "term"),
    *required(sa.Text, "source", "provenance"),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("removed_at", sa.BigInteger()),
    sa.CheckConstraint("(text IS NULL) <> (image IS NULL)", name="a_text_or_an_image"),
    sa.CheckConstraint("source IN ('written', 'uploaded', 'template', 'edited')", name="source_is_known"),
    sa.ForeignKeyConstraint(["corpus_id"], ["corpora.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("corpus_id", "seq"),
    sa.UniqueConstraint("corpus_id", "digest"),
    sa.Index(None, "image"),
)

table(
    "images",
    *required(sa.Text, "tenant", "digest", "media_type"),
    *required(sa.Integer, "width", "height", "size"),
    sa.Column("content", sa.LargeBinary(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("thumbnail", sa.Text()),
    sa.PrimaryKeyConstraint("tenant", "digest"),
)
