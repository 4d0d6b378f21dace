"""Ratings of services: what rankings of services read of each rating."""

from __future__ import annotations

import json
import logging

import sqlalchemy as sa
from alembic import op

from migrations.columns import optional, required

revision = "0017"
down_revision = "0016"

COPIED = (
    "rating_id, method, attribute, tenant, visibility, description, host, address, created_at, withdrawn_at, masked"
)


def upgrade() -> None:
    """Create the table, and fill it in from the ratings."""
    op.create_table(
        "service_ratings",
        sa.Column("rating_id", sa.Text, sa.ForeignKey("ratings.id"), primary_key=True),
        *required(sa.Text, "service", "kind", "method", "attribute", "tenant", "visibility"),
        *optional(sa.Text, "description", "host", "address"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("withdrawn_at", sa.BigInteger),
        sa.Column("masked", sa.Boolean, nullable=False),
        sa.Column("key_figures", sa.Text),
    )
    _fill_in()
    op.create_index("ix_service_ratings_service_created_at", "service_ratings", ["service", "created_at"])
    op.create_index("ix_service_ratings_kind_method_attribute", "service_ratings", ["kind", "method", "attribute"])


def _fill_in() -> None:
    """Fill in each rating by itself, because documents are large; one that cannot be read has no numbers."""
    from assay.methods import rating_of  # here, because the store imports the migrations
    from assay.rating.document import key_figures
    from store.core.columns import unpack
    from store.ratings.ratings import service_key

    connection, log = op.get_bind(), logging.getLogger("assay")
    read = sa.text("SELECT target, document FROM ratings WHERE id = :id")
    fill_in = sa.text(
        f"INSERT INTO service_ratings ({COPIED}, service, kind, key_figures) "  # noqa: S608  constants only
        f"SELECT {COPIED.replace('rating_id', 'id').replace('masked', 'unmasked IS NOT NULL')}, "
        ":service, :kind, :figures FROM ratings WHERE id = :id"
    )
    for rating_id in connection.execute(sa.text("SELECT id FROM ratings")).scalars().all():
        row = connection.execute(read, {"id": rating_id}).one()
        service = kind = figures = None
        try:
            target = json.loads(row.target)
            service, kind = service_key(target), str(target.get("kind") or "")
            figures = json.dumps(key_figures(rating_of(unpack(row.document))), allow_nan=False)
        except Exception:  # noqa: BLE001  an old row must not stop the upgrade
            log.warning("rating %s cannot be read and is left out of rankings", rating_id)
        if service is not None:
            connection.execute(fill_in, {"id": rating_id, "service": service, "kind": kind, "figures": figures})
