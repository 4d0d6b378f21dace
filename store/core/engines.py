"""How connections are made: addresses, drivers, limits on every wait, and what SQLite must be told."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

LOCK_WAIT_S = 5
"""How long a write waits for another before it is refused with a 503."""

CONNECT_WAIT_S = 5
"""How long a connection to the server may take to be made."""

BACKENDS = ("sqlite", "postgresql")


def database_url(written: str) -> URL:
    """Read an operator's URL: ``sqlite:////path/assay.db`` or ``postgresql://…``, the driver left to us.

    Raises
    ------
    ValueError
        If it is no URL, or names another database, or SQLite without a file.
    """
    try:
        url = make_url(written)
    except ArgumentError:  # its message would repeat the password
        raise ValueError("the database URL cannot be read; write sqlite:////path/assay.db or postgresql://…") from None
    backend = "postgresql" if url.drivername == "postgres" else url.get_backend_name()
    if backend not in BACKENDS:
        raise ValueError(f"no store is written for {backend!r}; use sqlite or postgresql")
    if backend == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("SQLite needs a file that several connections can share: sqlite:////path/assay.db")
    return url.set(drivername=backend)


def pool(size: int, overflow: int, timeout_s: float) -> dict[str, Any]:
    """Size a pool: connections kept, opened beyond that under load, and how long one is waited for."""
    return {"pool_size": size, "max_overflow": overflow, "pool_timeout": timeout_s}


def sqlite_reader(url: URL, lock_wait_s: float, **pool: Any) -> Engine:
    """Make an engine whose every statement sees what is committed when it begins."""
    return _sqlite(url, lock_wait_s, pool)


def sqlite_writer(url: URL, lock_wait_s: float, **pool: Any) -> Engine:
    """Make an engine that takes the write lock when a transaction begins, so that none fails half-way for it."""
    engine = _sqlite(url, lock_wait_s, pool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def postgres(url: URL, lock_wait_s: float, **pool: Any) -> Engine:
    """Make an engine for threads."""
    options = " ".join(f"-c {name}={value}" for name, value in _postgres_settings(lock_wait_s).items())
    limits = {"connect_timeout": CONNECT_WAIT_S, "options": options}
    return create_engine(url.set(drivername="postgresql+psycopg"), connect_args=limits, hide_parameters=True, **pool)


def postgres_async(url: URL, lock_wait_s: float, **pool: Any) -> AsyncEngine:
    """Make an engine for an event loop."""
    limits = {"timeout": CONNECT_WAIT_S, "server_settings": _postgres_settings(lock_wait_s)}
    target = url.set(drivername="postgresql+asyncpg")
    return create_async_engine(target, connect_args=limits, hide_parameters=True, **pool)


def _postgres_settings(lock_wait_s: float) -> dict[str, str]:
    """Say what the server is to do for each connection (Postgres 14 or newer).

    It drops what it does for a process that has died: nobody would hear of a job that it adds then.
    """
    return {"lock_timeout": _ms(lock_wait_s), "client_connection_check_interval": "500ms"}


def _sqlite(url: URL, lock_wait_s: float, pool: dict[str, Any]) -> Engine:
    """Leave transactions to us: the sqlite3 module's own guesses begin too late, and deferred."""
    target, limits = url.set(drivername="sqlite+pysqlite"), {"timeout": lock_wait_s}
    # parameters may hold secrets, and an exception's text ends up in logs
    engine = create_engine(target, connect_args=limits, hide_parameters=True, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = NORMAL")  # safe against a crash of the process under WAL
        cursor.close()

    return engine


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
