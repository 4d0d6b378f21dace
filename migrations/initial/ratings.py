"""Jobs with their records, suites, schedules, shares and rated hosts; ratings with their signatures and the log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required

COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def create() -> None:
    """Create the tables and their indexes."""
    _jobs()
    _records_of_jobs()
    _hosts()
    _suites()
    _shares()
    _ratings()
    _service_ratings()
    _signatures()
    _log()
    _publications()


def _jobs() -> None:
    """Create the table of jobs."""
    op.create_table(
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
        sa.CheckConstraint("(status = 'running') = (lease_until IS NOT NULL)", name="ck_jobs_running_is_leased"),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')", name="ck_jobs_status_is_known"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_status_lease_until", "jobs", ["status", "lease_until"])
    op.create_index("ix_jobs_status_next_run_at_id", "jobs", ["status", "next_run_at", "id"])
    op.create_index("ix_jobs_tenant_created_at_id", "jobs", ["tenant", "created_at", "id"])
    op.create_index(
        "ix_jobs_tenant_request_digest_created_at_id", "jobs", ["tenant", "request_digest", "created_at", "id"]
    )
    op.create_index("ix_jobs_tenant_status_created_at_id", "jobs", ["tenant", "status", "created_at", "id"])
    op.create_index("ix_jobs_tenant_target_url_created_at_id", "jobs", ["tenant", "target_url", "created_at", "id"])
    op.create_index("ix_jobs_status_tenant_next_run_at_id", "jobs", ["status", "tenant", "next_run_at", "id"])
    op.create_index("ix_jobs_tenant_started_at", "jobs", ["tenant", "started_at"])


def _records_of_jobs() -> None:
    """Create the tables of observations, events and notices."""
    op.create_table(
        "observations",
        *required(sa.Text, "job_id", "unit"),
        sa.Column("seq", sa.Integer(), nullable=False),
        *required(sa.LargeBinary, "ask", "reply"),
        sa.Column("failure", sa.Text()),
        sa.Column("copied", sa.Boolean(), nullable=False),
        *required(sa.Integer, "attempts", "elapsed_ms"),
        *required(sa.BigInteger, "fence", "recorded_at"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_observations_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "unit", name="pk_observations"),
        sa.UniqueConstraint("job_id", "seq", name="uq_observations_job_id_seq"),
    )
    op.create_table(
        "events",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        *required(sa.Text, "job_id", "type", "data"),
        *required(sa.BigInteger, "fence", "at"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_events_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_job_id_id", "events", ["job_id", "id"])
    op.create_table(
        "outbox",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        *required(sa.Text, "job_id", "kind", "payload"),
        *required(sa.BigInteger, "created_at", "next_attempt_at"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="ck_outbox_state_is_known"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_outbox_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("job_id", "kind", name="uq_outbox_job_id_kind"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_state_next_attempt_at", "outbox", ["state", "next_attempt_at"])


def _hosts() -> None:
    """Create the tables of rated hosts: turns of jobs, and files with which a host refuses ratings."""
    op.create_table(
        "host_turns",
        *required(sa.Text, "job_id", "host"),
        sa.Column("admitted_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_host_turns_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "host", name="pk_host_turns"),
    )
    op.create_index("ix_host_turns_host", "host_turns", ["host"])
    op.create_table(
        "refusal_files",
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("refuses", sa.Boolean()),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.Column("retry_at", sa.BigInteger()),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("url", name="pk_refusal_files"),
    )


def _suites() -> None:
    """Create the tables of suites, cells and schedules."""
    op.create_table(
        "suites",
        *required(sa.Text, "id", "tenant"),
        sa.Column("target_url", sa.Text()),
        *required(sa.Text, "target", "request"),
        sa.Column("callback_url", sa.Text()),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_suites"),
    )
    op.create_index("ix_suites_tenant_created_at_id", "suites", ["tenant", "created_at", "id"])
    op.create_table(
        "suite_cells",
        sa.Column("suite_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        *required(sa.Text, "method", "attribute", "label", "job_id"),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name="fk_suite_cells_suite_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("suite_id", "place", name="pk_suite_cells"),
    )
    op.create_index("ix_suite_cells_job_id", "suite_cells", ["job_id"])
    op.create_table(
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
        sa.CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="ck_schedules_one_rhythm"),
        sa.CheckConstraint("state IN ('active', 'paused')", name="ck_schedules_state_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
    )
    op.create_index("ix_schedules_state_next_at", "schedules", ["state", "next_at"])
    op.create_index("ix_schedules_tenant_created_at_id", "schedules", ["tenant", "created_at", "id"])


def _shares() -> None:
    """Create the tables of workers and of the bytes that each tenant stores."""
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("alive_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_table(
        "stored_bytes",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "shard", name="pk_stored_bytes"),
    )


def _ratings() -> None:
    """Create the table of ratings."""
    op.create_table(
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
        sa.PrimaryKeyConstraint("id", name="pk_ratings"),
        sa.UniqueConstraint("job_id", name="uq_ratings_job_id"),
    )
    op.create_index("ix_ratings_created_at_id", "ratings", ["created_at", "id"])
    op.create_index("ix_ratings_target_url_created_at_id", "ratings", ["target_url", "created_at", "id"])
    op.create_index("ix_ratings_tenant_created_at_id", "ratings", ["tenant", "created_at", "id"])
    op.create_index(
        "ix_ratings_tenant_request_digest_created_at", "ratings", ["tenant", "request_digest", "created_at"]
    )
    op.create_index(
        "ix_ratings_tenant_target_url_created_at_id", "ratings", ["tenant", "target_url", "created_at", "id"]
    )
    op.create_index(
        "ix_ratings_address",
        "ratings",
        [
            *("address", "method", "attribute", "created_at", "id"),
            *("tenant", "visibility", "description", "withdrawn_at"),
        ],
    )


def _service_ratings() -> None:
    """Create the table of ratings of services, from which rankings are read."""
    op.create_table(
        "service_ratings",
        sa.Column("rating_id", sa.Text(), sa.ForeignKey("ratings.id"), primary_key=True),
        *required(sa.Text, "service", "kind", "method", "attribute", "tenant", "visibility"),
        *optional(sa.Text, "description", "host", "address"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_at", sa.BigInteger()),
        sa.Column("masked", sa.Boolean(), nullable=False),
        *optional(sa.Text, "key_figures", "letter", "name"),
        sa.Column("declared", sa.Boolean()),
        sa.Column("expires_at", sa.BigInteger()),
    )
    op.create_index("ix_service_ratings_service_created_at", "service_ratings", ["service", "created_at"])
    op.create_index(
        "ix_service_ratings_ranked",
        "service_ratings",
        ["kind", "method", "attribute", "service", "tenant", "visibility", "masked", "withdrawn_at"],
    )


def _signatures() -> None:
    """Create the tables of signing keys, certificates and ratings that wait for their signature."""
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Text(), nullable=False),
        *required(sa.LargeBinary, "public_key", "secret_ciphertext", "secret_nonce"),
        *required(sa.Text, "secret_key_id", "secret_last4"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_signing_keys"),
    )
    op.create_table(
        "certificates",
        *required(sa.Text, "rating_id", "key_id"),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["signing_keys.id"], name="fk_certificates_key_id"),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_certificates_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", "key_id", name="pk_certificates"),
    )
    op.create_table(
        "unsigned_ratings",
        *required(sa.Text, "rating_id"),
        *required(sa.BigInteger, "next_attempt_at"),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_unsigned_ratings_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_unsigned_ratings"),
    )
    op.create_index("ix_unsigned_ratings_next_attempt_at", "unsigned_ratings", ["next_attempt_at"])


def _log() -> None:
    """Create the tables of the transparency log: entries, tree, cosignatures, and heads of other logs."""
    op.create_table(
        "log_entries",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        *required(sa.Text, "rating_id", "event", "entry"),
        sa.Column("leaf", sa.LargeBinary(), nullable=False),
        sa.Column("logged_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("event IN ('published', 'withdrawn')", name="ck_log_entries_event_is_known"),
        sa.PrimaryKeyConstraint("position", name="pk_log_entries"),
    )
    op.create_index("ix_log_entries_rating_id_position", "log_entries", ["rating_id", "position"])
    op.create_table(
        "log_nodes",
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "place", name="pk_log_nodes"),
    )
    op.create_table(
        "cosignatures",
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), autoincrement=False, nullable=False),
        *required(sa.Text, "witness", "line"),
        *required(sa.BigInteger, "created_at"),
        sa.PrimaryKeyConstraint("origin", "size", "witness", name="pk_cosignatures"),
    )
    op.create_table(
        "witnessed_logs",
        sa.Column("origin", sa.Text(), nullable=False),
        *required(sa.BigInteger, "size"),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        *required(sa.BigInteger, "updated_at"),
        sa.PrimaryKeyConstraint("origin", name="pk_witnessed_logs"),
    )


def _publications() -> None:
    """Create the tables of domains, replies, compositions and re-ratings."""
    op.create_table(
        "domains",
        *required(sa.Text, "id", "tenant", "host", "token", "state"),
        sa.Column("checked_at", sa.BigInteger()),
        sa.Column("failure", sa.Text()),
        sa.Column("verified_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ratings", sa.Text(), nullable=False, server_default="allowed"),
        sa.CheckConstraint("state IN ('waiting', 'verified', 'failed')", name="ck_domains_state_is_known"),
        sa.CheckConstraint("ratings IN ('allowed', 'refused')", name="ck_domains_ratings_are_known"),
        sa.PrimaryKeyConstraint("id", name="pk_domains"),
        sa.UniqueConstraint("tenant", "host", name="uq_domains_tenant_host"),
    )
    op.create_index("ix_domains_tenant_created_at_id", "domains", ["tenant", "created_at", "id"])
    op.create_index("ix_domains_host", "domains", ["host"])
    op.create_table(
        "replies",
        *required(sa.Text, "rating_id", "tenant", "host", "text"),
        sa.Column("link", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("objects", sa.Boolean(), nullable=False, server_default=sa.false()),
        *optional(sa.Text, "answer", "answered_by"),
        sa.Column("answered_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_replies_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_replies"),
    )
    op.create_table(
        "compositions",
        *required(sa.Text, "id", "tenant", "visibility", "request"),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_compositions"),
    )
    op.create_index("ix_compositions_tenant_created_at_id", "compositions", ["tenant", "created_at", "id"])
    op.create_table(
        "rerated",
        *required(sa.Text, "rating_id", "methodology_version"),
        sa.Column("letter", sa.Text()),
        sa.Column("declared", sa.Boolean(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_rerated_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", "methodology_version", name="pk_rerated"),
    )
