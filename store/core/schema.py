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
    Column("tenant", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("target_id", AnyText),
    Column("target_url", AnyText),
    Column("target", Json, nullable=False),
    Column("secret_ciphertext", LargeBinary),
    Column("secret_nonce", LargeBinary),
    Column("secret_key_id", AnyText),
    Column("secret_last4", AnyText),
    Column("author", Json),
    Column("experiment", Json),
    Column("request_digest", AnyText, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("visibility", AnyText, nullable=False),
    Column("callback_url", AnyText),
    Column("max_calls", Integer, nullable=False),
    Column("deadline_at", BigInteger, nullable=False),
    Column("key_id", AnyText),
    # progress
    Column("status", AnyText, nullable=False),
    Column("stage", AnyText, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("expected", Integer, nullable=False),
    Column("failed_calls", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("observed", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    # lease
    Column("attempt", Integer, nullable=False),
    Column("attempts_without_progress", Integer, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("lease_owner", AnyText),
    Column("lease_until", BigInteger),
    Column("next_run_at", BigInteger, nullable=False),
    Column("dispatched_at", BigInteger),
    Column("heartbeat_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    # outcome
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
)

observations = Table(
    "observations",
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("unit", AnyText, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("ask", Packed, nullable=False),
    Column("reply", Packed, nullable=False),
    Column("failure", AnyText),
    Column("copied", Boolean, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("elapsed_ms", Integer, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    UniqueConstraint("job_id", "seq"),
)

events = Table(
    "events",
    metadata,
    Column("id", Counted, primary_key=True, autoincrement=True),
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("type", AnyText, nullable=False),
    Column("data", Json, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
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
    Column("created_at", BigInteger, nullable=False),
    Column("next_attempt_at", BigInteger, nullable=False),
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
    Column("tenant", AnyText, nullable=False),
    Column("job_id", AnyText, nullable=False),
    Column("target_id", AnyText),
    Column("target_url", AnyText, nullable=False),
    Column("target", Json, nullable=False),
    Column("method", AnyText, nullable=False),
    Column("attribute", AnyText, nullable=False),
    Column("letter", AnyText),
    Column("declared", Boolean, nullable=False),
    Column("visibility", AnyText, nullable=False),
    Column("methodology_version", AnyText, nullable=False),
    Column("request_digest", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("document", Packed, nullable=False),
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_why", AnyText),
    UniqueConstraint("job_id"),
    Index(None, "created_at", "id"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "tenant", "target_url", "created_at", "id"),
    Index(None, "target_url", "created_at", "id"),
    Index(None, "tenant", "request_digest", "created_at"),
)

targets = Table(
    "targets",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("protocol", AnyText, nullable=False),
    Column("base_url", AnyText, nullable=False),
    Column("settings", Json, nullable=False),
    Column("limits", Json, nullable=False),
    Column("visibility", AnyText, nullable=False),
    Column("secret_ciphertext", LargeBinary),
    Column("secret_nonce", LargeBinary),
    Column("secret_key_id", AnyText),
    Column("secret_last4", AnyText),
    Column("version", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("short", AnyText, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("last_used_at", BigInteger),
    UniqueConstraint("short"),
    Index(None, "tenant", "created_at", "id"),
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
    Column("tenant", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("purpose", AnyText, nullable=False),
    Column("media_type", AnyText, nullable=False),
    Column("digest", AnyText, nullable=False),
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
    Column("title", AnyText, nullable=False),
    Column("kind", AnyText, nullable=False),
    Column("language", AnyText, nullable=False),
    Column("citation", AnyText, nullable=False),
    Column("words", Packed, nullable=False),
    Column("digest", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
    CheckConstraint("kind IN ('choices', 'association', 'stereotype', 'visual')", name="kind_is_known"),
    Index(None, "tenant", "created_at", "name"),
)
