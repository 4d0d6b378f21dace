"""Database tables for webhooks, signatures, published ratings, suites and schedules.

`store.core.schema` holds the tables of the job engine. Times are milliseconds since 1970 by the database's clock.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    false,
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, Packed
from store.core.schema import metadata

# ---------------------------------------------------------------------------- webhooks
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

# ---------------------------------------------------------------------------- signatures
signing_keys = Table(
    "signing_keys",
    metadata,
    Column("id", AnyText, primary_key=True),  # RFC 7638 thumbprint of the public key
    Column("public_key", LargeBinary, nullable=False),  # 32 bytes of an Ed25519 key
    # these four columns are empty if the private key is outside the database
    *required(LargeBinary, "secret_ciphertext", "secret_nonce"),
    *required(AnyText, "secret_key_id", "secret_last4"),
    Column("created_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),  # time from which the key signs nothing new; its signatures stay valid
)

certificates = Table(
    "certificates",
    metadata,
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("key_id", AnyText, ForeignKey("signing_keys.id"), primary_key=True),
    Column("envelope", Packed, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

unsigned_ratings = Table(
    "unsigned_ratings",  # ratings that a worker has to sign; ratings from before this table are signed on request
    metadata,
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("next_attempt_at", BigInteger, nullable=False),
    Index(None, "next_attempt_at"),
)

log_entries = Table(
    "log_entries",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    *required(AnyText, "rating_id", "event"),
    Column("entry", Json, nullable=False),
    Column("leaf", LargeBinary, nullable=False),
    Column("logged_at", BigInteger, nullable=False),
    CheckConstraint("event IN ('published', 'withdrawn')", name="event_is_known"),
    Index(None, "rating_id", "position"),
)

log_nodes = Table(
    "log_nodes",
    metadata,
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    # hash of the subtree over the 2^level leaves that start at place * 2^level
    Column("hash", LargeBinary, nullable=False),
)

cosignatures = Table(
    "cosignatures",  # signatures of witnesses under heads of our own log
    metadata,
    Column("origin", AnyText, primary_key=True),
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("witness", AnyText, primary_key=True),  # verifier key of the witness
    Column("line", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

witnessed_logs = Table(
    "witnessed_logs",  # the latest head of each log that this agency witnesses
    metadata,
    Column("origin", AnyText, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("root", LargeBinary, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

# ---------------------------------------------------------------------------- published ratings
domains = Table(
    "domains",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("host", AnyText, nullable=False),  # includes the port, unless it is the scheme's default
    *required(AnyText, "token", "state"),
    Column("checked_at", BigInteger),
    Column("failure", AnyText),
    Column("verified_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("ratings", AnyText, nullable=False, server_default="allowed"),
    UniqueConstraint("tenant", "host"),
    CheckConstraint("state IN ('waiting', 'verified', 'failed')", name="state_is_known"),
    CheckConstraint("ratings IN ('allowed', 'refused')", name="ratings_are_known"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "host"),
)

refusal_files = Table(
    "refusal_files",
    metadata,
    Column("url", AnyText, primary_key=True),
    Column("refuses", Boolean),  # NULL if the file could never be read
    Column("read_at", BigInteger, nullable=False),  # 0 if the file could never be read
    Column("retry_at", BigInteger),  # time of the next attempt after a failure; NULL after a success
    Column("failures", Integer, nullable=False, server_default="0"),
)

replies = Table(
    "replies",
    metadata,
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    *required(AnyText, "tenant", "host", "text"),
    Column("link", AnyText),
    Column("created_at", BigInteger, nullable=False),
    Column("objects", Boolean, nullable=False, server_default=false()),
    # the public answer of the requester or the operator to an objection
    *optional(AnyText, "answer", "answered_by"),
    Column("answered_at", BigInteger),
)

compositions = Table(
    "compositions",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "visibility"),
    Column("request", Json, nullable=False),
    Column("document", Packed, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index(None, "tenant", "created_at", "id"),
)

rerated = Table(
    "rerated",
    metadata,
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("methodology_version", AnyText, primary_key=True),
    Column("letter", AnyText),
    Column("declared", Boolean, nullable=False),
    Column("document", Packed, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# ---------------------------------------------------------------------------- suites and schedules
suites = Table(
    "suites",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("target_url", AnyText),
    *required(Json, "target", "request"),
    Column("callback_url", AnyText),
    Column("visibility", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
)

suite_cells = Table(
    "suite_cells",
    metadata,
    Column("suite_id", AnyText, ForeignKey("suites.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    *required(AnyText, "method", "attribute"),
    Column("label", AnyText, nullable=False),  # a language, a specification, …; empty for the method's default
    Column("job_id", AnyText, nullable=False),
    Index(None, "job_id"),
)

schedules = Table(
    "schedules",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name"),
    Column("request", Json, nullable=False),
    Column("cron", AnyText),
    Column("interval_s", BigInteger),
    Column("state", AnyText, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("last_at", BigInteger),
    *optional(AnyText, "last_job_id", "last_failure", "key_id"),
    Column("version", Integer, nullable=False),
    *required(BigInteger, "created_at", "updated_at"),
    Column("removed_at", BigInteger),
    CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="one_rhythm"),
    CheckConstraint("state IN ('active', 'paused')", name="state_is_known"),
    Index(None, "state", "next_at"),
    Index(None, "tenant", "created_at", "id"),
)
