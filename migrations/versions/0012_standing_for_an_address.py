"""Which ratings stand for an address: normalised addresses, who requested a rating, and how; objections of owners."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional

revision = "0012"
down_revision = "0011"

ROWS_A_STATEMENT = 500

COMPARED = [
    *("address", "method", "attribute", "created_at", "id"),
    *("tenant", "visibility", "description", "withdrawn_at"),
]


def upgrade() -> None:
    """Add the columns, and fill in the addresses; who requested earlier ratings, and how, is not known."""
    for column in optional(sa.Text, "host", "address", "requester", "description"):
        op.add_column("ratings", column)
    op.add_column("ratings", sa.Column("host_proved", sa.Boolean()))
    _fill_in_addresses()
    op.create_index("ix_ratings_address", "ratings", COMPARED)
    op.add_column("replies", sa.Column("objects", sa.Boolean(), nullable=False, server_default=sa.false()))
    for column in optional(sa.Text, "answer", "answered_by"):
        op.add_column("replies", column)
    op.add_column("replies", sa.Column("answered_at", sa.BigInteger()))


def _fill_in_addresses() -> None:
    from store.targets.domains import canonical_address  # here, because the store imports the migrations

    connection = op.get_bind()
    urls = connection.execute(sa.text("SELECT DISTINCT target_url FROM ratings")).scalars().all()
    rows = [
        {"url": url, "address": address, "host": address.partition("/")[0]}
        for url in urls
        if (address := canonical_address(url)) is not None
    ]
    fill_in = sa.text("UPDATE ratings SET host = :host, address = :address WHERE target_url = :url")
    for first in range(0, len(rows), ROWS_A_STATEMENT):
        connection.execute(fill_in, rows[first : first + ROWS_A_STATEMENT])
