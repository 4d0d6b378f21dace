"""Several columns of one type, for migrations and for the tables of `store`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column


def required(kind: Any, *names: str) -> list[Column[Any]]:
    """Create columns of a type, NOT NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Create columns of a type that may be NULL."""
    return [Column(name, kind) for name in names]
