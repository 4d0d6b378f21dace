"""Tables of webhook endpoints and deliveries; `outbox` has the notices, written in the transaction that caused them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Counted, Json, metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "url", "description"),
    Column("events", Json, nullable=False),  # subscribed event types; an empty list means all
    *required(AnyText, "envelope", "state"),
    Column("disabled_why", AnyText),
    *optional(BigInteger, "failing_since", "confirmed_at"),  # confirmed_at: NULL until it has answered a challenge
    *required(LargeBinary, "secret_ciphertext", "secret_nonce"),
    *required(AnyText, "secret_key_id", "secret_last4"),
    *optional(LargeBinary, "previous_ciphertext", "previous_nonce"),
    Column("previous_key_id", AnyText),
    Column("previous_until", BigInteger),
    Column("version", Integer, nullable=False),
    *required(BigInteger, "created_at", "updated_at"),
    Column("removed_at", BigInteger),
    CheckConstraint("envelope IN ('standard', 'cloudevents')", name="envelope_is_known"),
    CheckConstraint("state IN ('enabled', 'disabled')", name="state_is_known"),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("url", "description", "events")},
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Counted, primary_key=True, autoincrement=True),
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("payload", Json, nullable=False),
    *required(BigInteger, "created_at", "next_attempt_at"),
    Column("attempts", Integer, nullable=False),
    Column("delivered_at", BigInteger),
    Column("state", AnyText, nullable=False),
    UniqueConstraint("job_id", "kind"),
    CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    Index(None, "state", "next_attempt_at"),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", AnyText, primary_key=True),  # sent as the header webhook-id, the same for every attempt
    Column("tenant", AnyText, nullable=False),
    Column("webhook_id", AnyText),  # NULL for a delivery to a job's callback_url
    Column("outbox_id", BigInteger),  # NULL for a ping
    *required(AnyText, "url", "type"),
    Column("payload", Json, nullable=False),
    Column("state", AnyText, nullable=False),
    Column("attempts", Integer, nullable=False),
    *required(BigInteger, "created_at", "next_attempt_at"),
    *optional(BigInteger, "lease_until", "ended_at"),
    UniqueConstraint("outbox_id", "webhook_id"),
    CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    Index(None, "state", "next_attempt_at"),
    Index(None, "webhook_id", "created_at", "id"),
    Index(None, "tenant", "created_at", "id"),
)

delivery_attempts = Table(
    "delivery_attempts",
    metadata,
    Column("delivery_id", AnyText, ForeignKey("deliveries.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("elapsed_ms", Integer, nullable=False),
    Column("status", Integer),  # NULL if there was no response
    Column("failure", AnyText),
    Column("response", AnyText),  # the first 2 kB of the response
)
