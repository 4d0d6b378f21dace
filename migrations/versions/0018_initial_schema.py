"""Initial schema: the tables in ``0018_initial_schema.sql``.

Its id is that of the last of the 18 migrations that it replaces, so that a database at their head stays current.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0018"
down_revision = None

WORDS = {
    "sqlite": {"bytes": "BLOB", "counted": "INTEGER", "incremented": " AUTOINCREMENT"},
    "postgresql": {"bytes": "BYTEA", "counted": "BIGSERIAL", "incremented": ""},
}
"""Words that differ between the databases: types of bytes and of numbers that the database counts up."""


def upgrade() -> None:
    """Create all tables."""
    connection = op.get_bind()
    script = Path(__file__).with_suffix(".sql").read_text("utf-8").format(**WORDS[connection.dialect.name])
    for statement in script.removesuffix(";\n").split(";\n"):
        connection.exec_driver_sql(statement)
