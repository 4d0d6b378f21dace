"""Webhooks, certificates, the transparency log, domains, compositions, suites and schedules."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = (
    "webhooks",
    "deliveries",
    "delivery_attempts",
    "signing_keys",
    "certificates",
    "log_entries",
    "log_nodes",
    "domains",
    "replies",
    "compositions",
    "rerated",
    "suites",
    "suite_cells",
    "schedules",
)


def upgrade() -> None:
    """Create the tables, and add the withdrawal of ratings."""
    op.add_column("ratings", sa.Column("withdrawn_at", sa.BigInteger()))
    op.add_column("ratings", sa.Column("withdrawn_why", sa.Text()))
    _webhooks()
    _deliveries()
    _what_is_signed()
    _what_is_published()
    _what_is_done_again()


def downgrade() -> None:
    """Drop the tables and the columns of withdrawal."""
    for table in reversed(TABLES):
        op.drop_table(table)
    with op.batch_alter_table("ratings") as ratings:
        ratings.drop_column("withdrawn_why")
        ratings.drop_column("withdrawn_at")


def _webhooks() -> None:
    """Create the table of webhooks."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("envelope", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("disabled_why", sa.Text()),
        sa.Column("failing_since", sa.BigInteger()),
        sa.Column("secret_ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("secret_nonce", sa.LargeBinary(), nullable=False),
        sa.Column("secret_key_id", sa.Text(), nullable=False),
        sa.Column("secret_last4", sa.Text(), nullable=False),
        sa.Column("previous_ciphertext", sa.LargeBinary()),
        sa.Column("previous_nonce", sa.LargeBinary()),
        sa.Column("previous_key_id", sa.Text()),
        sa.Column("previous_until", sa.BigInteger()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
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
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.Text()),
        sa.Column("outbox_id", sa.BigInteger()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_attempt_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
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
        sa.Column("failure", sa.Text()),
        sa.Column("response", sa.Text()),
        sa.ForeignKeyConstraint(
            ["delivery_id"], ["deliveries.id"], name="fk_delivery_attempts_delivery_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("delivery_id", "number", name="pk_delivery_attempts"),
    )


def _what_is_signed() -> None:
    """Create the tables of signing keys, certificates and the log with its tree."""
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("secret_ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("secret_nonce", sa.LargeBinary(), nullable=False),
        sa.Column("secret_key_id", sa.Text(), nullable=False),
        sa.Column("secret_last4", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_signing_keys"),
    )
    op.create_table(
        "certificates",
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["signing_keys.id"], name="fk_certificates_key_id"),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_certificates_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", "key_id", name="pk_certificates"),
    )
    op.create_table(
        "log_entries",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
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


def _what_is_published() -> None:
    """Create the tables of domains, replies, compositions and re-ratings."""
    op.create_table(
        "domains",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
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
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("link", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_replies_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", name="pk_replies"),
    )
    op.create_table(
        "compositions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_compositions"),
    )
    op.create_index("ix_compositions_tenant_created_at_id", "compositions", ["tenant", "created_at", "id"])
    op.create_table(
        "rerated",
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("methodology_version", sa.Text(), nullable=False),
        sa.Column("letter", sa.Text()),
        sa.Column("declared", sa.Boolean(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["rating_id"], ["ratings.id"], name="fk_rerated_rating_id"),
        sa.PrimaryKeyConstraint("rating_id", "methodology_version", name="pk_rerated"),
    )


def _what_is_done_again() -> None:
    """Create the tables of suites, cells and schedules."""
    op.create_table(
        "suites",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("target_url", sa.Text()),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
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
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("attribute", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name="fk_suite_cells_suite_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("suite_id", "place", name="pk_suite_cells"),
    )
    op.create_index("ix_suite_cells_job_id", "suite_cells", ["job_id"])
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text()),
        sa.Column("interval_s", sa.BigInteger()),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger()),
        sa.Column("last_job_id", sa.Text()),
        sa.Column("last_failure", sa.Text()),
        sa.Column("key_id", sa.Text()),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger()),
        sa.CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="ck_schedules_one_rhythm"),
        sa.CheckConstraint("state IN ('active', 'paused')", name="ck_schedules_state_is_known"),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
    )
    op.create_index("ix_schedules_state_next_at", "schedules", ["state", "next_at"])
    op.create_index("ix_schedules_tenant_created_at_id", "schedules", ["tenant", "created_at", "id"])
