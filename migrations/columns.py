"""Names of constraints and several columns of one type, for migrations and for the tables of `store`."""

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


def required(kind: Any, *names: str) -> list[Column[Any]]:
    """Create columns of a type, NOT NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Create columns of a type that may be NULL."""
    return [Column(name, kind) for name in names]
