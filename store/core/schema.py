"""Database tables of the job engine. `migrations/` creates them; a test checks that both agree.

Times (``*_at``, ``*_until``) are milliseconds since 1970 by the database's clock. The row of a queued job is
its dispatch request. `observations` is the ledger from which a crashed run resumes. Rows of `events` are never
changed. `outbox` holds notices, written in the transaction that caused them.
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
    MetaData,
    Table,
    UniqueConstraint,
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, Packed

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Counted = BigInteger().with_variant(Integer, "sqlite")  # SQLite increments INTEGER keys only

jobs = Table(
    "jobs",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "kind"),
    *optional(AnyText, "target_id", "target_url"),
    Column("target", Json, nullable=False),
    *optional(LargeBinary, "secret_ciphertext", "secret_nonce"),
    *optional(AnyText, "secret_key_id", "secret_last4"),
    *optional(Json, "author", "experiment"),
    Column("request_digest", AnyText, nullable=False),
    Column("seed", BigInteger, nullable=False),
    *optional(AnyText, "nonce", "commitment"),  # NULL in jobs from before 0014
    Column("visibility", AnyText, nullable=False),
    Column("callback_url", AnyText),
    Column("max_calls", Integer, nullable=False),
    Column("deadline_at", BigInteger, nullable=False),
    Column("key_id", AnyText),
    # columns of the progress
    *required(AnyText, "status", "stage"),
    *required(Integer, "asked", "expected", "failed_calls", "calls", "observed"),
    Column("cancel_requested", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    # columns of the lease
    *required(Integer, "attempt", "attempts_without_progress"),
    Column("fence", BigInteger, nullable=False),
    Column("lease_owner", AnyText),
    Column("lease_until", BigInteger),
    Column("next_run_at", BigInteger, nullable=False),
    Column("waits_why", AnyText),  # reason why a queued job is not due before next_run_at
    *optional(BigInteger, "dispatched_at", "heartbeat_at"),
    Column("created_at", BigInteger, nullable=False),
    *optional(BigInteger, "started_at", "finished_at"),
    # columns of the outcome
    Column("error", Json),
    Column("result", Packed),
    Column("rating_id", AnyText),
    CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="running_is_leased"),
    CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="status_is_known"),
    Index(None, "status", "next_run_at", "id"),
    Index(None, "status", "lease_until"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "tenant", "target_url", "created_at", "id"),
    Index(None, "tenant", "status", "created_at", "id"),
    Index(None, "tenant", "request_digest", "created_at", "id"),
    Index(None, "status", "tenant", "next_run_at", "id"),
    Index(None, "tenant", "started_at"),
)

workers = Table(
    "workers",  # processes that run jobs; the embedded worker has no row
    metadata,
    Column("name", AnyText, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("alive_until", BigInteger, nullable=False),
)

stored_bytes = Table(
    "stored_bytes",  # bytes that tenants have stored (`store.core.quota`)
    metadata,
    Column("tenant", AnyText, primary_key=True),
    Column("kind", AnyText, primary_key=True),
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("bytes", BigInteger, nullable=False),
)

host_turns = Table(
    "host_turns",
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("host", AnyText, primary_key=True),
    Column("admitted_at", BigInteger),  # NULL while the job waits for its turn
    Index(None, "host"),
)

observations = Table(
    "observations",
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("unit", AnyText, primary_key=True),
    Column("seq", Integer, nullable=False),
    *required(Packed, "ask", "reply"),
    Column("failure", AnyText),
    Column("copied", Boolean, nullable=False),
    *required(Integer, "attempts", "elapsed_ms"),
    *required(BigInteger, "fence", "recorded_at"),
    UniqueConstraint("job_id", "seq"),
)

events = Table(
    "events",
    metadata,
    Column("id", Counted, primary_key=True, autoincrement=True),
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("type", AnyText, nullable=False),
    Column("data", Json, nullable=False),
    *required(BigInteger, "fence", "at"),
    Index(None, "job_id", "id"),
    sqlite_autoincrement=True,
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

ratings = Table(
    "ratings",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "job_id"),
    Column("target_id", AnyText),
    Column("target_url", AnyText, nullable=False),
    Column("target", Json, nullable=False),
    *required(AnyText, "method", "attribute"),
    Column("letter", AnyText),
    Column("declared", Boolean, nullable=False),
    *required(AnyText, "visibility", "methodology_version", "request_digest"),
    *required(BigInteger, "created_at", "expires_at"),
    Column("document", Packed, nullable=False),
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_why", AnyText),
    # forms of target_url in which look-ups compare it; NULL if it is empty
    *optional(AnyText, "host", "address"),
    # facts at the time of the rating; NULL for ratings of earlier versions
    *optional(AnyText, "requester", "description"),
    Column("host_proved", Boolean),
    UniqueConstraint("job_id"),
    Index(None, "created_at", "id"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "tenant", "target_url", "created_at", "id"),
    Index(None, "target_url", "created_at", "id"),
    # holds everything that a look-up by address compares, so that the documents are not read
    Index(
        "ix_ratings_address",
        *("address", "method", "attribute", "created_at", "id", "tenant", "visibility", "description", "withdrawn_at"),
    ),
    Index(None, "tenant", "request_digest", "created_at"),
)

targets = Table(
    "targets",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "kind", "protocol", "base_url"),
    *required(Json, "settings", "limits"),
    Column("visibility", AnyText, nullable=False),
    *optional(LargeBinary, "secret_ciphertext", "secret_nonce"),
    *optional(AnyText, "secret_key_id", "secret_last4"),
    Column("version", Integer, nullable=False),
    *required(BigInteger, "created_at", "updated_at"),
    Column("removed_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "short"),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    *optional(BigInteger, "expires_at", "revoked_at", "last_used_at"),
    UniqueConstraint("short"),
    Index(None, "tenant", "created_at", "id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),  # digest of the token; the token itself is not stored
    Column("key_id", AnyText, ForeignKey("api_keys.id")),  # NULL if a person signed in with an account; then:
    *optional(AnyText, "rule", "subject"),
    *required(BigInteger, "seen_at", "expires_at"),
    Index(None, "key_id", "expires_at"),
    Index(None, "subject", "rule", "expires_at"),
    Index(None, "expires_at"),
    Index(None, "seen_at"),
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("scope", AnyText, primary_key=True),
    Column("key", AnyText, primary_key=True),
    Column("payload_digest", AnyText, nullable=False),
    Column("began_at", BigInteger, nullable=False),
    Column("status", Integer),
    Column("headers", Json),
    Column("body", LargeBinary),
    Index(None, "began_at"),
)

uploads = Table(
    "uploads",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "purpose", "media_type", "digest"),
    Column("bytes", BigInteger, nullable=False),
    Column("summary", Packed, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("tenant", "digest", "purpose"),
    CheckConstraint("purpose IN ('table', 'embedding', 'trials')", name="purpose_is_known"),
    Index(None, "tenant", "created_at", "id"),
)

upload_chunks = Table(
    "upload_chunks",
    metadata,
    Column("upload_id", AnyText, ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

specifications = Table(
    "specifications",
    metadata,
    Column("tenant", AnyText, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    *required(AnyText, "title", "kind", "language", "citation"),
    Column("words", Packed, nullable=False),
    Column("digest", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
    CheckConstraint("kind IN ('choices', 'association', 'stereotype', 'visual')", name="kind_is_known"),
    Index(None, "tenant", "created_at", "name"),
)
