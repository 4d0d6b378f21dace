import shutil
import sqlite3
from importlib import import_module
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, inspect, text

import store
from store.core import migrate
from store.core.columns import metadata
from store.core.errors import SchemaMismatch
from store.targets import targets
from store.targets.targets import NewTarget
from tests.support.concurrency import run_concurrently

for path in Path(store.__file__).parent.glob("*/tables.py"):
    import_module(f"store.{path.parent.name}.tables")  # adds its tables to the metadata


# indexes of expressions are left out of this comparison
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
def test_migrations_create_the_tables_of_the_schema(database):
    with database.read() as c:
        assert compare_metadata(MigrationContext.configure(c), metadata) == []


def test_every_database_table_is_defined_in_a_module_named_tables_outside_the_folder_core():
    modules = {path for path in Path(store.__file__).parent.rglob("*.py") if " = define_table(" in path.read_text()}
    assert {path.name for path in modules} == {"tables.py"}
    assert "core" not in {path.parent.name for path in modules}


def test_migrations_create_the_check_constraints_of_the_schema(database):
    expected = {
        (table.name, check.name)
        for table in metadata.tables.values()
        for check in table.constraints
        if isinstance(check, CheckConstraint)
    }
    with database.read() as c:
        made = {(name, check["name"]) for name in metadata.tables for check in inspect(c).get_check_constraints(name)}
    assert made == expected


def test_upgraded_database_can_be_upgraded_again_and_passes_the_check(database_url):
    migrate.upgrade(database_url)
    migrate.check(database_url)


@pytest.mark.parametrize("found", ["0000", "9999"])
def test_database_with_an_unknown_schema_version_is_refused(database, database_url, found):
    with database.write() as c:
        c.execute(text("UPDATE alembic_version SET version_num = :found"), {"found": found})
    with pytest.raises(SchemaMismatch, match=f"at schema {found}"):
        migrate.check(database_url)
    with pytest.raises(SchemaMismatch):
        migrate.upgrade(database_url)


@pytest.mark.parametrize("found", ["0001", "0017"])
def test_a_database_of_an_unreleased_version_is_refused_and_the_message_says_what_to_do(database, database_url, found):
    with database.write() as c:
        c.execute(text("UPDATE alembic_version SET version_num = :found"), {"found": found})
    for refused in (migrate.check, migrate.upgrade, migrate.upgrade_if_writable):
        with pytest.raises(SchemaMismatch) as error:
            refused(database_url)
        message = str(error.value)
        assert f"is at schema {found} and this version of Assay needs {migrate.head()}; an unreleased" in message
        assert "export what you need with that version, or start with an empty database" in message
        assert "assay migrate" not in message


NEXT_MIGRATION = f"""
import sqlalchemy as sa
from alembic import op
revision, down_revision = "9999", "{migrate.head()}"
def upgrade():
    op.add_column("targets", sa.Column("note", sa.Text(), nullable=False, server_default="none"))
"""


def test_a_later_migration_upgrades_a_database_and_keeps_its_rows(database, database_url, monkeypatch, tmp_path):
    with database.write() as c:
        target = targets.add(c, NewTarget("default", "T", "translator", "libretranslate", "https://a.example", {}, {}))
    scripts = Path(shutil.copytree(migrate.SCRIPTS, tmp_path / "scripts"))
    (scripts / "versions" / "9999_notes.py").write_text(NEXT_MIGRATION)
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    with pytest.raises(SchemaMismatch, match="this version of Assay needs 9999; run `assay migrate`"):
        migrate.check(database_url)
    migrate.upgrade(database_url)
    migrate.check(database_url)
    with database.read() as c:
        assert c.execute(text("SELECT id, note FROM targets")).all() == [(target.id, "none")]
    monkeypatch.undo()
    migrate.check(database_url, or_newer=True)  # by a process of the version before


def test_a_running_process_accepts_a_later_schema_but_not_an_older_schema(database, database_url):
    # guards against: `/readyz` was 503 in every running process as soon as the next version had migrated the database
    for found, accepted in (("9999", True), ("0000", False)):
        with database.write() as c:
            c.execute(text("UPDATE alembic_version SET version_num = :found"), {"found": found})
        if accepted:
            migrate.check(database_url, or_newer=True)
        else:
            with pytest.raises(SchemaMismatch, match=f"at schema {found}"):
                migrate.check(database_url, or_newer=True)


def test_missing_database_is_refused_and_not_created(tmp_path):
    with pytest.raises(SchemaMismatch, match="at schema none"):
        migrate.check(f"sqlite:///{tmp_path}/missing.db")
    assert list(tmp_path.iterdir()) == []


def test_empty_database_is_refused(tmp_path):
    sqlite3.connect(tmp_path / "empty.db").close()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SchemaMismatch, match="assay migrate"):
        migrate.check(f"sqlite:///{tmp_path}/empty.db")


def test_concurrent_upgrades_of_a_new_file_succeed(tmp_path):
    url = f"sqlite:///{tmp_path}/new/assay.db"
    run_concurrently(4, lambda _: migrate.upgrade(url))
    migrate.check(url)
