"""Differences between databases: engines (URLs, drivers, timeouts, pragmas), locks, and errors worth a retry.

Three drivers report such errors in three ways. They become `StoreUnavailable`, whose text has neither the statement
nor its parameters. Every other error, such as a broken statement, is a defect and passes through unchanged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Engine,
    String,
    Table,
    Update,
    bindparam,
    create_engine,
    event,
    exc,
    func,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from store.core.errors import StoreUnavailable

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

LOCK_WAIT_S = 5
"""Seconds that a write waits for a lock before the request fails with HTTP 503."""

CONNECT_WAIT_S = 5
"""Seconds that connecting to the server may take."""

BACKENDS = ("sqlite", "postgresql")


def database_url(text: str) -> URL:
    """Parse a database URL: ``sqlite:////path/assay.db`` or ``postgresql://…``; a driver in it is ignored.

    Raise `ValueError` if `text` is no URL, or names another kind of database, or SQLite without a file.
    """
    try:
        url = make_url(text)
    except exc.ArgumentError:  # the exception's message would contain the password
        raise ValueError("the database URL cannot be read; write sqlite:////path/assay.db or postgresql://…") from None
    backend = "postgresql" if url.drivername == "postgres" else url.get_backend_name()
    if backend not in BACKENDS:
        raise ValueError(f"{backend!r} databases are not supported; use sqlite or postgresql")
    if backend == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("the SQLite URL names no file; several connections must share one: sqlite:////path/assay.db")
    return url.set(drivername=backend)


def pool_options_of(size: int, overflow: int, timeout_s: float) -> dict[str, Any]:
    """Return the options of a connection pool by the names that SQLAlchemy's `create_engine` has for them."""
    return {"pool_size": size, "max_overflow": overflow, "pool_timeout": timeout_s}


def sqlite_reader(url: URL, lock_wait_s: float, **pool: object) -> Engine:
    """Create an engine without transactions: each statement sees the data committed before it.

    It can read even if no file can be created or grow, for example on a full disk or a read-only file system.
    """
    engine = _create_sqlite_engine(url, lock_wait_s, pool)

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, pool_record: Any, arguments: Any, options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*arguments, **options)
        try:
            connection.execute("PRAGMA schema_version")  # creates the files of the write-ahead log if they are missing
        except sqlite3.DatabaseError as error:
            connection.close()
            if not _is_readable_as_immutable(error, str(url.database)):
                raise
            pool_record.info[IMMUTABLE_USED] = False  # the key marks an immutable connection; the value: not used yet
            file_uri = Path(str(url.database)).absolute().as_uri()
            connection = sqlite3.connect(f"{file_uri}?immutable=1", uri=True, **options)
        return connection

    @event.listens_for(engine, "checkout")
    def use_immutable_once(_connection: Any, pool_record: Any, _proxy: Any) -> None:
        # a connection opened with ``immutable=1`` never sees later changes of the file, so it is used only once
        if pool_record.info.get(IMMUTABLE_USED):
            raise exc.DisconnectionError  # the pool then opens a new connection
        if IMMUTABLE_USED in pool_record.info:
            pool_record.info[IMMUTABLE_USED] = True

    return engine


IMMUTABLE_USED = "immutable connection was used"
"""Key in the pool record's ``info`` of a SQLite connection with ``immutable=1``; true once it has been used."""


def _is_readable_as_immutable(error: sqlite3.DatabaseError, file: str) -> bool:
    """Return whether an unwritable SQLite file can be read as immutable, because its write-ahead log is empty."""
    wal = Path(f"{file}-wal")
    unwritable = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL}
    # the last 8 bits of an error code are the primary result code
    return error.sqlite_errorcode & 0xFF in unwritable and not (wal.exists() and wal.stat().st_size)


def sqlite_writer(url: URL, lock_wait_s: float, **pool: object) -> Engine:
    """Create an engine whose transactions take the write lock when they begin, not later at a statement."""
    engine = _create_sqlite_engine(url, lock_wait_s, pool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def postgres(url: URL, lock_wait_s: float, **pool: object) -> Engine:
    """Create an engine for threads (psycopg)."""
    setting_options = " ".join(f"-c {name}={value}" for name, value in _postgres_settings(lock_wait_s).items())
    connect_options = {"connect_timeout": CONNECT_WAIT_S, "options": setting_options}
    driver_url = url.set(drivername="postgresql+psycopg")
    return create_engine(driver_url, connect_args=connect_options, hide_parameters=True, **pool)


def postgres_async(url: URL, lock_wait_s: float, *, read_only: bool = False, **pool: object) -> AsyncEngine:
    """Create an engine for an event loop (asyncpg); if it is `read_only`, the server refuses its writes."""
    from sqlalchemy.ext.asyncio import create_async_engine  # imported here: it takes 0.1 s, and only Postgres needs it

    settings = _postgres_settings(lock_wait_s) | ({"default_transaction_read_only": "on"} if read_only else {})
    connect_options = {"timeout": CONNECT_WAIT_S, "server_settings": settings}
    driver_url = url.set(drivername="postgresql+asyncpg")
    return create_async_engine(driver_url, connect_args=connect_options, hide_parameters=True, **pool)


def _postgres_settings(lock_wait_s: float) -> dict[str, str]:
    """Return the server settings of each connection (Postgres 14 or newer).

    The server aborts the statements of a process that has died, so that no job is added if nobody gets the reply.
    """
    return {"lock_timeout": f"{round(lock_wait_s * 1000)}ms", "client_connection_check_interval": "500ms"}


def _create_sqlite_engine(url: URL, lock_wait_s: float, pool: dict[str, Any]) -> Engine:
    """Create an engine whose driver sends no BEGIN: sqlite3 would send it late, and without taking the write lock."""
    driver_url, connect_options = url.set(drivername="sqlite+pysqlite"), {"timeout": lock_wait_s}
    # parameters may contain secrets, and exception texts are logged
    engine = create_engine(driver_url, connect_args=connect_options, hide_parameters=True, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        """Set the transaction mode and the pragmas of a new connection."""
        connection.isolation_level = None  # the driver sends no BEGIN
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        # in WAL mode, NORMAL keeps the database intact if the process crashes
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    return engine


VALUES_A_QUERY = 1000
"""Maximum number of values in one query, well below a statement's maximum number of parameters."""


def insert_into(c: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT of the connection's dialect, which can have an ON CONFLICT clause."""
    return sqlite.insert(table) if c.dialect.name == "sqlite" else postgresql.insert(table)


def replacing_insert(c: Connection, table: Table, replaced_columns: Iterable[str]) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that, if a row with the same primary key exists, replaces these columns of that row."""
    statement = insert_into(c, table)
    new_values = {name: statement.excluded[name] for name in replaced_columns}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=new_values)


def upsert(c: Connection, table: Table, row: Mapping[str, Any], *replaced_columns: str) -> None:
    """Insert a row; if there is a row with this primary key, replace its `replaced_columns` (default: all others)."""
    c.execute(replacing_insert(c, table, replaced_columns or row.keys() - table.primary_key.columns.keys()).values(row))


V = TypeVar("V")


def chunks(values: Sequence[V]) -> Iterator[Sequence[V]]:
    """Split values into lists of at most `VALUES_A_QUERY`."""
    for start in range(0, len(values), VALUES_A_QUERY):
        yield values[start : start + VALUES_A_QUERY]


def lock_transaction(c: Connection, key: int | str) -> None:
    """Take a Postgres advisory lock until the transaction ends; do nothing on SQLite, where a write excludes others."""
    if c.dialect.name == "postgresql":
        c.execute(_LOCK_NUMBER if isinstance(key, int) else _LOCK_TEXT, {"key": key})


_LOCK_NUMBER = select(func.pg_advisory_xact_lock(bindparam("key", type_=BigInteger)))
_LOCK_TEXT = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("key", type_=String), 0)))


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
"""Reasons of `StoreUnavailable` by primary result code of SQLite (sqlite.org/rescode.html)."""

POSTGRES_REASONS: Mapping[str, str] = {
    "40001": "conflict",  # PostgreSQL's serialization_failure
    "40P01": "conflict",  # PostgreSQL's deadlock_detected
    "55P03": "locked",  # PostgreSQL's lock_not_available
    "25006": "read-only",  # PostgreSQL's read_only_sql_transaction
    "53100": "full",  # PostgreSQL's disk_full
    "53": "busy",  # class 53: insufficient resources
    "08": "unreachable",  # class 08: connection exception
    "57": "unreachable",  # class 57: operator intervention (shutdown, crash, cannot connect now)
    "58": "unreachable",  # class 58: system error
    "XX": "unreachable",  # class XX: internal error (a damaged page, a lost file)
}
"""Reasons of `StoreUnavailable` by SQLSTATE, or by its class of two characters (PostgreSQL manual, appendix A)."""


def execute_if_writable(c: Connection, statement: Update) -> None:
    """Execute an UPDATE that may be skipped, such as of a time of last use; do nothing if the database cannot serve."""
    try:
        c.execute(statement)
    except exc.DBAPIError as error:
        if as_unavailable(error) is None:
            raise


def as_unavailable(error: BaseException) -> StoreUnavailable | None:
    """Return the `StoreUnavailable` for an error that a retry can solve; ``None`` for any other, which is a defect."""
    reason = _unavailable_reason(error)
    return None if reason is None else StoreUnavailable(reason)


def _unavailable_reason(error: BaseException) -> str | None:
    """Return the reason (a key of `RETRY_AFTER_S`) why the database cannot serve; ``None`` if the error is a defect."""
    if isinstance(error, exc.TimeoutError):
        return "busy"
    if not isinstance(error, exc.DBAPIError):
        return None
    driver_error = error.orig
    sqlite_code = getattr(driver_error, "sqlite_errorcode", None)
    if sqlite_code is not None:
        return SQLITE_REASONS.get(sqlite_code & 0xFF)  # the primary result code
    sqlstate = getattr(driver_error, "sqlstate", None)
    if sqlstate is not None and (reason := POSTGRES_REASONS.get(sqlstate) or POSTGRES_REASONS.get(sqlstate[:2])):
        return reason
    if error.connection_invalidated:
        return "unreachable"
    # a driver that lost its connection reports no SQLSTATE
    return "unreachable" if sqlstate is None and isinstance(error, exc.OperationalError | exc.InterfaceError) else None


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise `StoreUnavailable` for database errors that a retry can solve."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        if (outage := as_unavailable(error)) is None:
            raise
        raise outage from error


@contextmanager
def translate_connection_errors() -> Iterator[None]:
    """Raise `StoreUnavailable` for every error of asyncpg while connecting, which SQLAlchemy does not wrap."""
    try:
        with translate_errors():
            yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreUnavailable("unreachable") from error
