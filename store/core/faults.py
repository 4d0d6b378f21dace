"""Mapping from database errors to `StoreUnavailable`, for four drivers.

Other errors, such as an invalid statement, are defects and are raised unchanged. A `StoreUnavailable`
shows neither the statement nor its parameters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import asyncpg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from store.core.errors import StoreUnavailable

SQLITE_REASONS: Mapping[int, str] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_PERM: "read-only",
    sqlite3.SQLITE_IOERR: "unreachable",
    sqlite3.SQLITE_CANTOPEN: "unreachable",
    sqlite3.SQLITE_NOTADB: "unreachable",
    sqlite3.SQLITE_CORRUPT: "unreachable",
    sqlite3.SQLITE_NOMEM: "busy",
}
"""Primary result codes of SQLite (sqlite.org/rescode.html)."""

POSTGRES_REASONS: Mapping[str, str] = {
    "40001": "conflict",  # serialization_failure
    "40P01": "conflict",  # deadlock_detected
    "55P03": "locked",  # lock_not_available
    "25006": "read-only",  # read_only_sql_transaction
    "53100": "full",  # disk_full
    "53": "busy",  # insufficient resources
    "08": "unreachable",  # connection exception
    "57": "unreachable",  # operator intervention: shutdown, crash, cannot connect now
    "58": "unreachable",  # system error
    "XX": "unreachable",  # internal error: a damaged page, a lost file
}
"""SQLSTATE, or its class of two characters (PostgreSQL manual, appendix A)."""

RETRY_AFTER_S: Mapping[str, int] = {
    "locked": 1,
    "busy": 2,
    "conflict": 1,
    "unreachable": 5,
    "read-only": 30,
    "full": 60,
}


def unavailable(error: BaseException) -> StoreUnavailable | None:
    """Return the `StoreUnavailable` for an error, or ``None`` if the error is a defect."""
    reason = _reason(error)
    return None if reason is None else StoreUnavailable(reason, RETRY_AFTER_S[reason])


def _reason(error: BaseException) -> str | None:
    if isinstance(error, PoolTimeout):
        return "busy"
    if not isinstance(error, DBAPIError):
        return None
    cause = error.orig
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return SQLITE_REASONS.get(code & 0xFF)
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        known = POSTGRES_REASONS.get(state) or POSTGRES_REASONS.get(state[:2])
        if known is not None:
            return known
    if error.connection_invalidated:
        return "unreachable"
    # a driver that lost its connection reports no SQLSTATE
    return "unreachable" if state is None and isinstance(error, OperationalError | InterfaceError) else None


@contextmanager
def translated() -> Iterator[None]:
    """Raise `StoreUnavailable` for database errors that a retry can solve."""
    try:
        yield
    except SQLAlchemyError as error:
        if (outage := unavailable(error)) is None:
            raise
        raise outage from error


@contextmanager
def connecting() -> Iterator[None]:
    """Raise `StoreUnavailable` for every error while connecting."""
    try:
        with translated():
            yield
    except (
        OSError,
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
    ) as error:  # SQLAlchemy does not wrap asyncpg's connection errors
        raise StoreUnavailable("unreachable", RETRY_AFTER_S["unreachable"]) from error
