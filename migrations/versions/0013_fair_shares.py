"""Fair shares: turns of tenants, bytes that they store, unread files of hosts, and challenges of webhooks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


ROW_BYTES = 200
COUNTED = {
    "jobs": ("target", "author", "experiment", "callback_url"),
    "targets": ("name", "base_url", "settings", "limits", "secret_ciphertext"),
    "uploads": ("name", "summary"),
    "specifications": ("title", "citation", "words"),
    "corpora": ("name", "words", "licence", "citation", "description", "attribute"),
    "corpus_items": ("text", "group_term", "attribute_term", "counterpart", "term", "provenance"),
    "images": ("thumbnail",),
    "suites": ("target", "request", "callback_url"),
    "schedules": ("name", "request"),
    "webhooks": ("url", "description", "events"),
    "compositions": ("request", "document"),
    "domains": ("host",),
}
NUMBERS = {"uploads": ("bytes",), "images": ("size",)}
ITEMS = "corpus_items JOIN corpora ON corpora.id = corpus_items.corpus_id"


def _length(column: str) -> str:
    if op.get_bind().dialect.name == "sqlite":
        return f"coalesce(length(CAST({column} AS BLOB)), 0)"
    return f"coalesce(octet_length({column}), 0)"


def upgrade() -> None:
    """Create the tables and indexes."""
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("alive_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    with op.batch_alter_table("refusal_files") as files:
        files.alter_column("refuses", existing_type=sa.Boolean(), nullable=True)
        files.add_column(sa.Column("retry_at", sa.BigInteger()))
        files.add_column(sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("webhooks", sa.Column("confirmed_at", sa.BigInteger()))
    op.execute(
        "UPDATE webhooks SET confirmed_at = created_at WHERE failing_since IS NULL OR EXISTS "
        "(SELECT 1 FROM deliveries WHERE deliveries.webhook_id = webhooks.id AND deliveries.state = 'delivered')"
    )
    op.create_table(
        "stored_bytes",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "shard", name="pk_stored_bytes"),
    )
    for table, columns in COUNTED.items():
        size = " + ".join([str(ROW_BYTES), *map(_length, columns), *NUMBERS.get(table, ())])
        owner, source = ("tenant", table) if table != "corpus_items" else ("corpora.tenant", ITEMS)
        op.execute(
            "INSERT INTO stored_bytes (tenant, kind, shard, bytes) "  # noqa: S608  the names are those below
            f"SELECT {owner}, '{table}', 0, sum({size}) FROM {source} WHERE 1 = 1 GROUP BY {owner}"
        )
    op.create_index("ix_jobs_status_tenant_next_run_at_id", "jobs", ["status", "tenant", "next_run_at", "id"])
    op.create_index("ix_jobs_tenant_started_at", "jobs", ["tenant", "started_at"])
