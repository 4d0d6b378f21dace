"""Tables of the job engine. `migrations/` creates all tables; a test checks that both agree.

Times (``*_at``, ``*_until``) are milliseconds since 1970 by the database's clock, in every table. The row of a queued
job is its dispatch request. `observations` is the ledger from which a crashed run resumes. Rows of `events` are never
changed.
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
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Counted, Json, Packed, metadata

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
    *optional(AnyText, "nonce", "commitment"),  # NULL in jobs without an experiment
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
    info={"counted": ("target", "author", "experiment", "callback_url")},
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

archived = Table(
    "archived",  # jobs whose observations were moved to a file in a folder, or at s3://bucket/prefix
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    *required(AnyText, "month", "location", "file", "digest"),
    *required(BigInteger, "start", "size"),  # the job's part of the file, in bytes; digest is its SHA-256
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

host_turns = Table(
    "host_turns",
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("host", AnyText, primary_key=True),
    Column("admitted_at", BigInteger),  # NULL while the job waits for its turn
    Index(None, "host"),
)

workers = Table(
    "workers",  # processes that run jobs; the embedded worker has no row
    metadata,
    Column("name", AnyText, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("alive_until", BigInteger, nullable=False),
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
