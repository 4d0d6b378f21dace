"""API keys, sessions and webhooks."""

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
