"""Jobs with their records, suites, schedules, shares and rated hosts; ratings with their signatures and the log."""

from __future__ import annotations

import sqlalchemy as sa

from migrations.columns import optional, required
from migrations.initial.contents import METADATA, table

__all__ = ["METADATA"]

COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


# Jobs.

table(
    "jobs",
    *required(sa.Text, "id", "tenant", "kind"),
    *optional(sa.Text, "target_id", "target_url"),
    sa.Column("target", sa.Text(), nullable=False),
    *optional(sa.LargeBinary, "secret_ciphertext", "secret_nonce"),
    *optional(sa.Text, "secret_key_id", "secret_last4", "experiment"),
    sa.Column("request_digest", sa.Text(), nullable=False),
    sa.Column("seed", sa.BigInteger(), nullable=False),
    sa.Column("visibility", sa.Text(), nullable=False),
    sa.Column("callback_url", sa.Text()),
    sa.Column("max_calls", sa.Integer(), nullable=False),
    sa.Column("deadline_at", sa.BigInteger(), nullable=False),
    sa.Column("key_id", sa.Text()),
    *required(sa.Text, "status", "stage"),
    *required(sa.Integer, "asked", "expected", "failed_calls", "calls", "observed"),
    sa.Column("cancel_requested", sa.Boolean(), nullable=False),
    *required(sa.Integer, "version", "attempt", "attempts_without_progress"),
    sa.Column("fence", sa.BigInteger(), nullable=False),
    sa.Column("lease_owner", sa.Text()),
    sa.Column("lease_until", sa.BigInteger()),
    sa.Column("next_run_at", sa.BigInteger(), nullable=False),
    *optional(sa.BigInteger, "dispatched_at", "heartbeat_at"),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    *optional(sa.BigInteger, "started_at", "finished_at"),
    sa.Column("error", sa.Text()),
    sa.Column("result", sa.LargeBinary()),
    *optional(sa.Text, "rating_id", "author", "waits_why", "nonce", "commitment"),
    sa.CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="running_is_leased"),
    sa.CheckConstraint("status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="status_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "status", "lease_until"),
    sa.Index(None, "status", "next_run_at", "id"),
    sa.Index(None, "tenant", "created_at", "id"),
    sa.Index(None, "tenant", "request_digest", "created_at", "id"),
    sa.Index(None, "tenant", "status", "created_at", "id"),
    sa.Index(None, "tenant", "target_url", "created_at", "id"),
    sa.Index(None, "status", "tenant", "next_run_at", "id"),
    sa.Index(None, "tenant", "started_at"),
)

# Observations, events and notices.

table(
    "observations",
    *required(sa.Text, "job_id", "unit"),
    sa.Column("seq", sa.Integer(), nullable=False),
    *required(sa.LargeBinary, "ask", "reply"),
    sa.Column("failure", sa.Text()),
    sa.Column("copied", sa.Boolean(), nullable=False),
    *required(sa.Integer, "attempts", "elapsed_ms"),
    *required(sa.BigInteger, "fence", "recorded_at"),
    sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("job_id", "unit"),
    sa.UniqueConstraint("job_id", "seq"),
)

table(
    "events",
    sa.Column("id", COUNTED, autoincrement=True, nullable=False),
    *required(sa.Text, "job_id", "type", "data"),
    *required(sa.BigInteger, "fence", "at"),
    sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "job_id", "id"),
    sqlite_autoincrement=True,
)

table(
    "outbox",
    sa.Column("id", COUNTED, autoincrement=True, nullable=False),
    *required(sa.Text, "job_id", "kind", "payload"),
    *required(sa.BigInteger, "created_at", "next_attempt_at"),
    sa.Column("attempts", sa.Integer(), nullable=False),
    sa.Column("delivered_at", sa.BigInteger()),
    sa.Column("state", sa.Text(), nullable=False),
    sa.CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state_is_known"),
    sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("job_id", "kind"),
    sa.Index(None, "state", "next_attempt_at"),
    sqlite_autoincrement=True,
)

# Rated hosts: turns of jobs, and files with which a host refuses ratings.

table(
    "host_turns",
    *required(sa.Text, "job_id", "host"),
    sa.Column("admitted_at", sa.BigInteger()),
    sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("job_id", "host"),
    sa.Index(None, "host"),
)

table(
    "refusal_files",
    sa.Column("url", sa.Text(), primary_key=True),
    sa.Column("refuses", sa.Boolean()),
    sa.Column("read_at", sa.BigInteger(), nullable=False),
    sa.Column("retry_at", sa.BigInteger()),
    sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
)

# Suites, cells and schedules.

table(
    "suites",
    *required(sa.Text, "id", "tenant"),
    sa.Column("target_url", sa.Text()),
    *required(sa.Text, "target", "request"),
    sa.Column("callback_url", sa.Text()),
    sa.Column("visibility", sa.Text(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("ended_at", sa.BigInteger()),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "tenant", "created_at", "id"),
)

table(
    "suite_cells",
    sa.Column("suite_id", sa.Text(), nullable=False),
    sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
    *required(sa.Text, "method", "attribute", "label", "job_id"),
    sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], ondelete="CASCADE"),
    sa.PrimaryKeyConstraint("suite_id", "place"),
    sa.Index(None, "job_id"),
)

table(
    "schedules",
    *required(sa.Text, "id", "tenant", "name", "request"),
    sa.Column("cron", sa.Text()),
    sa.Column("interval_s", sa.BigInteger()),
    sa.Column("state", sa.Text(), nullable=False),
    sa.Column("next_at", sa.BigInteger(), nullable=False),
    sa.Column("last_at", sa.BigInteger()),
    *optional(sa.Text, "last_job_id", "last_failure", "key_id"),
    sa.Column("version", sa.Integer(), nullable=False),
    *required(sa.BigInteger, "created_at", "updated_at"),
    sa.Column("removed_at", sa.BigInteger()),
    sa.CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="one_rhythm"),
    sa.CheckConstraint("state IN ('active', 'paused')", name="state_is_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "state", "next_at"),
    sa.Index(None, "tenant", "created_at", "id"),
)

# Workers and of the bytes that each tenant stores.

table(
    "workers",
    sa.Column("name", sa.Text(), primary_key=True),
    sa.Column("slots", sa.Integer(), nullable=False),
    sa.Column("alive_until", sa.BigInteger(), nullable=False),
)

table(
    "stored_bytes",
    sa.Column("tenant", sa.Text(), nullable=False),
    sa.Column("kind", sa.Text(), nullable=False),
    sa.Column("shard", sa.Integer(), nullable=False, autoincrement=False),
    sa.Column("bytes", sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint("tenant", "kind", "shard"),
)

# Ratings.

table(
    "ratings",
    *required(sa.Text, "id", "tenant", "job_id"),
    sa.Column("target_id", sa.Text()),
    *required(sa.Text, "target_url", "target", "method", "attribute"),
    sa.Column("letter", sa.Text()),
    sa.Column("declared", sa.Boolean(), nullable=False),
    *required(sa.Text, "visibility", "methodology_version", "request_digest"),
    *required(sa.BigInteger, "created_at", "expires_at"),
    sa.Column("document", sa.LargeBinary(), nullable=False),
    sa.Column("withdrawn_at", sa.BigInteger()),
    *optional(sa.Text, "withdrawn_why", "host", "address", "requester", "description"),
    sa.Column("host_proved", sa.Boolean()),
    sa.Column("unmasked", sa.LargeBinary()),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("job_id"),
    sa.Index(None, "created_at", "id"),
    sa.Index(None, "target_url", "created_at", "id"),
    sa.Index(None, "tenant", "created_at", "id"),
    sa.Index(None, "tenant", "request_digest", "created_at"),
    sa.Index(None, "tenant", "target_url", "created_at", "id"),
    sa.Index(
        "ix_ratings_address",
        "address",
        "method",
        "attribute",
        "created_at",
        "id",
        "tenant",
        "visibility",
        "description",
        "withdrawn_at",
    ),
)

# Ratings of services, from which rankings are read.

table(
    "service_ratings",
    sa.Column("rating_id", sa.Text(), sa.ForeignKey("ratings.id", name="service_ratings_rating_id_fkey")),
    sa.PrimaryKeyConstraint("rating_id", name="service_ratings_pkey"),
    *required(sa.Text, "service", "kind", "method", "attribute", "tenant", "visibility"),
    *optional(sa.Text, "description", "host", "address"),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("withdrawn_at", sa.BigInteger()),
    sa.Column("masked", sa.Boolean(), nullable=False),
    *optional(sa.Text, "key_figures", "letter", "name"),
    sa.Column("declared", sa.Boolean()),
    sa.Column("expires_at", sa.BigInteger()),
    sa.Index(None, "service", "created_at"),
    sa.Index(
        "ix_service_ratings_ranked",
        "kind",
        "method",
        "attribute",
        "service",
        "tenant",
        "visibility",
        "masked",
        "withdrawn_at",
    ),
)

# Signing keys, certificates and ratings that wait for their signature.

table(
    "signing_keys",
    sa.Column("id", sa.Text(), primary_key=True),
    *required(sa.LargeBinary, "public_key", "secret_ciphertext", "secret_nonce"),
    *required(sa.Text, "secret_key_id", "secret_last4"),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("retired_at", sa.BigInteger()),
)

table(
    "certificates",
    *required(sa.Text, "rating_id", "key_id"),
    sa.Column("envelope", sa.LargeBinary(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(["key_id"], ["signing_keys.id"]),
    sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"]),
    sa.PrimaryKeyConstraint("rating_id", "key_id"),
)

table(
    "unsigned_ratings",
    *required(sa.Text, "rating_id"),
    *required(sa.BigInteger, "next_attempt_at"),
    sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"]),
    sa.PrimaryKeyConstraint("rating_id"),
    sa.Index(None, "next_attempt_at"),
)

# The transparency log: entries, tree, cosignatures, and heads of other logs.

table(
    "log_entries",
    sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
    *required(sa.Text, "rating_id", "event", "entry"),
    sa.Column("leaf", sa.LargeBinary(), nullable=False),
    sa.Column("logged_at", sa.BigInteger(), nullable=False),
    sa.CheckConstraint("event IN ('published', 'withdrawn')", name="event_is_known"),
    sa.PrimaryKeyConstraint("position"),
    sa.Index(None, "rating_id", "position"),
)

table(
    "log_nodes",
    sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
    sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
    sa.Column("hash", sa.LargeBinary(), nullable=False),
    sa.PrimaryKeyConstraint("level", "place"),
)

table(
    "cosignatures",
    sa.Column("origin", sa.Text(), nullable=False),
    sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False),
    *required(sa.Text, "witness", "line"),
    *required(sa.BigInteger, "created_at"),
    sa.PrimaryKeyConstraint("origin", "size", "witness"),
)

table(
    "witnessed_logs",
    sa.Column("origin", sa.Text(), primary_key=True),
    *required(sa.BigInteger, "size"),
    sa.Column("root", sa.LargeBinary(), nullable=False),
    *required(sa.BigInteger, "updated_at"),
)

# Domains, replies, compositions and re-ratings.

table(
    "domains",
    *required(sa.Text, "id", "tenant", "host", "token", "state"),
    sa.Column("checked_at", sa.BigInteger()),
    sa.Column("failure", sa.Text()),
    sa.Column("verified_at", sa.BigInteger()),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("ratings", sa.Text(), nullable=False, server_default="allowed"),
    sa.CheckConstraint("state IN ('waiting', 'verified', 'failed')", name="state_is_known"),
    sa.CheckConstraint("ratings IN ('allowed', 'refused')", name="ratings_are_known"),
    sa.PrimaryKeyConstraint("id"),
    sa.UniqueConstraint("tenant", "host"),
    sa.Index(None, "tenant", "created_at", "id"),
    sa.Index(None, "host"),
)

table(
    "replies",
    *required(sa.Text, "rating_id", "tenant", "host", "text"),
    sa.Column("link", sa.Text()),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.Column("objects", sa.Boolean(), nullable=False, server_default=sa.false()),
    *optional(sa.Text, "answer", "answered_by"),
    sa.Column("answered_at", sa.BigInteger()),
    sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"]),
    sa.PrimaryKeyConstraint("rating_id"),
)

table(
    "compositions",
    *required(sa.Text, "id", "tenant", "visibility", "request"),
    sa.Column("document", sa.LargeBinary(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint("id"),
    sa.Index(None, "tenant", "created_at", "id"),
)

table(
    "rerated",
    *required(sa.Text, "rating_id", "methodology_version"),
    sa.Column("letter", sa.Text()),
    sa.Column("declared", sa.Boolean(), nullable=False),
    sa.Column("document", sa.LargeBinary(), nullable=False),
    sa.Column("created_at", sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"]),
    sa.PrimaryKeyConstraint("rating_id", "methodology_version"),
)
