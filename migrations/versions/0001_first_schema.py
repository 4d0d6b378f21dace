"""Initial schema: jobs, observations, ratings, targets and API keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required

revision = "0001"
down_revision = None

COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _jobs()
    _records_of_jobs()
    _ratings()
    _targets()
    _keys()


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
        sa.Column("rating_id", sa.Text()),
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


def _targets() -> None:
    """Create the table of targets."""
    op.create_table(
        "targets",
        *required(sa.Text, "id", "tenant", "name", "kind", "protocol", "base_url", "settings", "limits", "visibility"),
        *optional(sa.LargeBinary, "secret_ciphertext", "secret_nonce"),
        *optional(sa.Text, "secret_key_id", "secret_last4"),
        sa.Column("version", sa.Integer(), nullable=False),
        *required(sa.BigInteger, "created_at", "updated_at"),
        sa.Column("removed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_targets"),
    )
    op.create_index("ix_targets_tenant_created_at_id", "targets", ["tenant", "created_at", "id"])


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
