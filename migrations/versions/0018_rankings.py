"""Rankings: letter, validity and name of each rating in the small table, so that a ranking reads no large row."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional

revision = "0018"
down_revision = "0017"

COUNTED = ("kind", "method", "attribute", "service", "tenant", "visibility", "masked", "withdrawn_at")


def upgrade() -> None:
    """Add the columns, fill them in, and let the index of a ranking hold everything that counts services."""
    for column in (*optional(sa.Text, "letter", "name"), *optional(sa.Boolean, "declared")):
        op.add_column("service_ratings", column)
    op.add_column("service_ratings", sa.Column("expires_at", sa.BigInteger))
    _fill_in()
    op.drop_index("ix_service_ratings_kind_method_attribute", "service_ratings")
    op.create_index("ix_service_ratings_ranked", "service_ratings", list(COUNTED))


def _fill_in() -> None:
    """Copy the columns from the ratings; names are in the descriptions of the targets."""
    connection = op.get_bind()
    copied = "SET letter = r.letter, declared = r.declared, expires_at = r.expires_at FROM ratings r"
    connection.execute(sa.text(f"UPDATE service_ratings {copied} WHERE r.id = rating_id"))
    read = "SELECT rating_id, target FROM service_ratings JOIN ratings ON ratings.id = rating_id"
    rows = connection.execute(sa.text(read)).all()
    names = [{"id": row.rating_id, "name": str(json.loads(row.target).get("name") or "")} for row in rows]
    if names:
        connection.execute(sa.text("UPDATE service_ratings SET name = :name WHERE rating_id = :id"), names)
