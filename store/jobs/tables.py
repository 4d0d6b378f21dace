"""Tables of the job engine. `migrations/` creates all tables; a test checks that both agree.

Times (``*_at``, ``*_until``) are milliseconds since 1970 by the database's clock, in every table. The row of a queued
job is its dispatch request. `observations` is the ledger from which a crashed run resumes. Rows of `events` are never
changed.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    UniqueConstraint,
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Counted, Json, Packed, define_table

jobs = define_table(
    "jobs",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "kind"),
    *optional(AnyText, "target_id", "target_url"),
    Column("target", Json, nullable=False),
    *optional(LargeBinary, "secret_ciphertext", "secret_nonce", secret_key_id=AnyText, secret_last4=AnyText),
    *optional(Json, "author", "experiment"),
    *required(request_digest=AnyText, seed=BigInteger),
    *optional(AnyText, "nonce", "commitment"),  # NULL in jobs without an experiment
    Column("visibility", AnyText, nullable=False),
    Column("callback_url", AnyText),
    *required(max_calls=Integer, deadline_at=BigInteger),
    Column("key_id", AnyText),
    # columns of the progress
    *required(AnyText, "status", "stage"),
    *required(Integer, "asked", "expected", "failed_calls", "calls", "observed", cancel_requested=Boolean),
    Column("version", Integer, nullable=False),
    # columns of the lease
    *required(Integer, "attempt", "attempts_without_progress", fence=BigInteger),
    *optional(lease_owner=AnyText, lease_until=BigInteger),
    Column("next_run_at", BigInteger, nullable=False),
    Column("waits_why", AnyText),  # reason why a queued job is not due before next_run_at
    *optional(BigInteger, "dispatched_at", "heartbeat_at"),
    Column("created_at", BigInteger, nullable=False),
    *optional(BigInteger, "started_at", "finished_at"),
    # columns of the outcome
    *optional(error=Json, result=Packed, rating_id=AnyText),
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

observations = define_table(
    "observations",
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("unit", AnyText, primary_key=True),
    *required(seq=Integer, ask=Packed, reply=Packed),
    Column("failure", AnyText),
    *required(copied=Boolean, attempts=Integer, elapsed_ms=Integer, fence=BigInteger, recorded_at=BigInteger),
    UniqueConstraint("job_id", "seq"),
)

archived = define_table(
    "archived",  # jobs whose observations were moved to a file in a folder, or at s3://bucket/prefix
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    *required(AnyText, "month", "location", "file", "digest"),
    *required(BigInteger, "start", "size"),  # the job's part of the file, in bytes; digest is its SHA-256
)

events = define_table(
    "events",
    Column("id", Counted, primary_key=True, autoincrement=True),
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    *required(type=AnyText, data=Json, fence=BigInteger, at=BigInteger),
    Index(None, "job_id", "id"),
    sqlite_autoincrement=True,
)

host_turns = define_table(
    "host_turns",
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("host", AnyText, primary_key=True),
    Column("admitted_at", BigInteger),  # NULL while the job waits for its turn
    Index(None, "host"),
)

workers = define_table(
    "workers",  # processes that run jobs; the embedded worker has no row
    Column("name", AnyText, primary_key=True),
    *required(slots=Integer, alive_until=BigInteger),
)

idempotency = define_table(
    "idempotency",
    Column("scope", AnyText, primary_key=True),
    Column("key", AnyText, primary_key=True),
    *required(payload_digest=AnyText, began_at=BigInteger),
    *optional(status=Integer, headers=Json, body=LargeBinary),
    Index(None, "began_at"),
)
