"""Current ratings, and names and addresses that a search finds: a registry of millions is read in part.

Postgres gets two functions, because `pg_trgm` may not be installed by everyone who may create tables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

GRAMS = """
CREATE FUNCTION {name}(sought text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS
$$
  SELECT array_agg(DISTINCT substr(sought, start, size))
  FROM generate_series(1, length(sought)) AS start, generate_series(1, 3) AS size
  WHERE start + size - 1 <= length(sought) {chosen}
$$
"""
"""SQL function that returns the parts of a text that have one to three characters."""

SOUGHT = "AND size = least(length(sought), 3) AND (start % 3 = 1 OR start + size - 1 = length(sought))"
"""Parts that cover a sought text, each as long as possible: fewer are found sooner."""

REPLACED = """
UPDATE service_ratings SET current = false WHERE rating_id IN (
  SELECT rating_id FROM (
    SELECT rating_id, expires_at, max(expires_at) OVER (
      PARTITION BY service, kind, method, attribute, tenant, visibility, description, masked, name, withdrawn_at IS NULL
      ORDER BY created_at DESC, rating_id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS longest FROM service_ratings
  ) AS dated WHERE longest IS NOT NULL AND (expires_at IS NULL OR expires_at <= longest)
)
"""

SEARCHED = """
UPDATE service_ratings SET searched = name || :line || (SELECT target_url FROM ratings WHERE id = rating_id)
WHERE current
"""


def upgrade() -> None:
    """Add the columns, fill them for the ratings that are there, and add their indexes."""
    op.add_column("service_ratings", sa.Column("current", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("service_ratings", sa.Column("searched", sa.Text()))
    op.execute(REPLACED)
    op.execute(sa.text(SEARCHED).bindparams(line="\n"))
    op.drop_index("ix_service_ratings_ranked", "service_ratings")
    for first in ("", "kind, ", "kind, method, attribute, ", "tenant, "):
        name = "_".join(("ix_service_ratings_current", *first.split(", ")[:-1]))
        columns = f"{first}(coalesce(address, service)), rating_id"
        op.execute(f"CREATE INDEX {name} ON service_ratings ({columns}) WHERE current")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(GRAMS.format(name="name_grams", chosen=""))
        op.execute(GRAMS.format(name="sought_grams", chosen=SOUGHT))
        columns = "USING gin (name_grams(lower(searched)))"
        op.execute(f"CREATE INDEX ix_service_ratings_searched ON service_ratings {columns} WHERE current")
