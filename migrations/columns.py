"""Names of constraints and several columns at once, for migrations and for the tables of `store`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
}
"""Names of constraints and indexes. Migrations refer to them, so that they never change."""


def required(kind: Any = None, /, *names: str, **kinds: Any) -> list[Column[Any]]:
    """Create NOT NULL columns: `names` of the type `kind`, then those named in `kinds`, each with its type."""
    return [Column(name, type_, nullable=False) for name, type_ in (dict.fromkeys(names, kind) | kinds).items()]


def optional(kind: Any = None, /, *names: str, **kinds: Any) -> list[Column[Any]]:
    """Create columns that may be NULL; arguments as for `required`."""
    return [Column(name, type_) for name, type_ in (dict.fromkeys(names, kind) | kinds).items()]
