import sqlite3
import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, inspect, text

from store.core import agency_schema, corpora_schema, migrate
from store.core.errors import SchemaMismatch

MODULES = agency_schema, corpora_schema  # each brings its tables
metadata = corpora_schema.corpora.metadata


def test_the_migrations_make_the_tables_the_code_expects(database):
    with database.read() as c:
        assert compare_metadata(MigrationContext.configure(c), metadata) == []


def test_the_migrations_make_the_checks_the_code_expects(database):
    expected = {
        (table.name, check.name)
        for table in metadata.tables.values()
        for check in table.constraints
        if isinstance(check, CheckConstraint)
    }
    with database.read() as c:
        made = {(name, check["name"]) for name in metadata.tables for check in inspect(c).get_check_constraints(name)}
    assert made == expected


def test_upgrading_again_changes_nothing_and_check_is_content(database_url):
    migrate.upgrade(database_url)
    migrate.check(database_url)


@pytest.mark.parametrize("found", ["0000", "9999"])
def test_a_database_of_another_version_is_refused(database, database_url, found):
    with database.write() as c:
        c.execute(text("UPDATE alembic_version SET version_num = :found"), {"found": found})
    with pytest.raises(SchemaMismatch, match=f"at schema {found}"):
        migrate.check(database_url)
    with pytest.raises(SchemaMismatch):
        migrate.upgrade(database_url)


def test_a_database_that_is_not_there_is_refused_and_not_made(tmp_path):
    with pytest.raises(SchemaMismatch, match="at schema none"):
        migrate.check(f"sqlite:///{tmp_path}/missing.db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_refused(tmp_path):
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SchemaMismatch, match="assay migrate"):
        migrate.check(f"sqlite:///{tmp_path}/empty.db")


def test_processes_that_start_at_once_migrate_once(tmp_path):
    url = f"sqlite:///{tmp_path}/new/assay.db"
    failures, ready = [], threading.Barrier(4)

    def start():
        ready.wait()
        try:
            migrate.upgrade(url)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    migrate.check(url)
