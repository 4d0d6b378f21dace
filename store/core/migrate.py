"""Schema migration: upgrade a database, or check its version."""

import time
from contextlib import closing
from pathlib import Path
from sqlite3 import SQLITE_BUSY

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from migrations import SCRIPTS
from store.core.data_folder import create_private
from store.core.database import Database
from store.core.engines import database_url
from store.core.errors import SchemaMismatch, StoreUnavailable

MIGRATION_LOCK = 0x_A55A_0001
"""Key of the Postgres advisory lock held while migrating; SQLite's write lock does the same."""

WAL_SWITCH_TIMEOUT_S = 10

UNWRITABLE = frozenset({"full", "read-only", "unreachable"})
"""Reasons of `StoreUnavailable` for which a database may be readable although it cannot be written."""


def head() -> str:
    """Return the schema version that this code needs."""
    revision = _migration_scripts().get_current_head()
    assert revision is not None, "migrations/versions has no migration"  # noqa: S101
    return revision


def upgrade(url: str) -> None:
    """Migrate to the newest schema, `head`, in one transaction; of concurrent processes, the first does, others wait.

    `url` is as in `store.core.database.Database`; a missing directory of a SQLite file is created.
    Raise `SchemaMismatch` if the database was written by a newer version of Assay, or by an unreleased version from
    before the initial schema, and `StoreUnavailable` if the database cannot be reached.
    """
    file = _sqlite_file(url)
    if file is not None:
        create_private(file)  # SQLite gives its other files the mode of this one
    with closing(Database(url)) as database:
        if file is not None:
            with database.read() as connection:
                _switch_to_write_ahead_log(connection)
        with database.write() as connection:
            _migrate(connection)


def upgrade_if_writable(url: str) -> str | None:
    """Migrate as `upgrade`; a database that cannot be written is accepted if it is at `head` already.

    Return the reason (in `StoreUnavailable`) why the database cannot be written; ``None`` if it can be written. Raise
    `SchemaMismatch` if the database has another version, and `StoreUnavailable` if it cannot be read, or another
    process holds a lock.
    """
    try:
        upgrade(url)
    except StoreUnavailable as outage:
        if outage.reason not in UNWRITABLE:
            raise
        try:
            check(url)
        except SchemaMismatch as mismatch:
            raise _schema_mismatch(mismatch.current, unwritable=outage.reason) from None
        return outage.reason
    return None


def check(url: str, *, or_newer: bool = False) -> None:
    """Raise an error unless the database is exactly at `head`, the newest schema.

    With `or_newer`, a later schema is accepted too: a running process continues during an upgrade, because migrations
    only add tables and columns that the process does not use.
    Raise `SchemaMismatch` if the schema is older or newer, or if there is no database file, and `StoreUnavailable` if
    the database cannot be reached.
    """
    file = _sqlite_file(url)
    if file is not None and not file.exists():
        raise _schema_mismatch(current=None)
    with closing(Database(url)) as database, database.read() as connection:
        current = _current_revision(connection)
    is_newer = current is not None and current > head()  # revisions are numbers of four digits
    if current != head() and not (or_newer and is_newer):
        raise _schema_mismatch(current)


def _schema_mismatch(current: str | None, unwritable: str | None = None) -> SchemaMismatch:
    unreleased = current is not None and current < str(_migration_scripts().get_base())
    return SchemaMismatch(current, required=head(), unwritable=unwritable, unreleased=unreleased)


def _migrate(connection: Connection) -> None:
    """Run the missing migrations while a lock excludes other processes; refuse a version that is not known."""
    if connection.dialect.name == "postgresql":
        # 0 means no limit, because a migration by another process can take long
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
    current = _current_revision(connection)
    if current is not None and current not in {script.revision for script in _migration_scripts().walk_revisions()}:
        raise _schema_mismatch(current)
    if current != head():
        config = _alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _current_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _migration_scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_alembic_config())


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))  # a single % would start a variable
    config.set_main_option("path_separator", "os")
    return config


def _sqlite_file(url: str) -> Path | None:
    parsed_url = database_url(url)
    return Path(str(parsed_url.database)) if parsed_url.drivername == "sqlite" else None


def _switch_to_write_ahead_log(connection: Connection) -> None:
    """Switch a SQLite file to write-ahead logging, permanently.

    The pragma does not wait for locks, so it is retried while another process holds one.
    """
    deadline = time.monotonic() + WAL_SWITCH_TIMEOUT_S
    while connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() != "wal":
        try:
            mode = connection.exec_driver_sql("PRAGMA journal_mode = WAL").scalar_one()
        except OperationalError as error:
            primary_code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
            if primary_code != SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            if mode != "wal":  # SQLite raises no error for a file that it may only read
                raise StoreUnavailable("read-only")
