"""Webhooks, certificates, the transparency log, domains, compositions, suites and schedules."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables, and add the withdrawal of ratings."""
    op.add_column("ratings", sa.Column("withdrawn_at", sa.BigInteger()))
    op.add_column("ratings", sa.Column("withdrawn_why", sa.Text()))
    _webhooks()
    _deliveries()
    _signatures()
    _publications()
    _suites()


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
        sa.Column("removed_at", sa.BigInteger()),
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


def _signatures() -> None:
    """Create the tables of signing keys, certificates and the log with its tree."""
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


def _publications() -> None:
    """Create the tables of domains, replies, compositions and re-ratings."""
    op.create_table(
        "domains",
        *required(sa.Text, "id", "tenant", "host", "token", "state"),
        sa.Column("checked_at", sa.BigInteger()),
        sa.Column("failure", sa.Text()),
        sa.Column("verified_at", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'verified', 'failed')", name="ck_domains_state_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_domains"),
        sa.UniqueConstraint("tenant", "host", name="uq_domains_tenant_host"),
    )
    op.create_index("ix_domains_tenant_created_at_id", "domains", ["tenant", "created_at", "id"])
    op.create_table(
        "replies",
        *required(sa.Text, "rating_id", "tenant", "host", "text"),
        sa.Column("link", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
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
