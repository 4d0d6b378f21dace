"""Ratings, their signatures and the log, domains, replies and compositions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required


def create() -> None:
    """Create the tables and their indexes."""
    _ratings()
    _service_ratings()
    _signatures()
    _log()
    _publications()


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
