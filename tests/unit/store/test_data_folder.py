"""Only the owner may read the data directory, whatever the umask and the version that created it.

Row 99 of docs/reliability.md: at ffe18d3c assay.db had the mode 0644.
"""

from __future__ import annotations

import os
import stat

import pytest
from structlog.testing import capture_logs

from store.core import migrate
from store.core.data_folder import open_data_folder, write_private
from store.core.database import Database
from store.core.settings import Settings
from store.security.secrets import Vault


@pytest.fixture(autouse=True)
def _generous_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder):
    return {path.name: mode(path) for path in (folder, *folder.rglob("*"))}


def test_only_the_owner_can_read_the_files_of_a_new_database_and_of_its_secret_key(tmp_path):
    # the database had the mode 0644
    folder = tmp_path / "data"
    migrate.upgrade(f"sqlite:///{folder}/assay.db")
    Vault.from_settings(Settings(data_dir=folder))
    database = Database(f"sqlite:///{folder}/assay.db")
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE written (a)")
        found = modes(folder)
    database.close()
    assert found.pop("data") == 0o700
    assert {"assay.db", "assay.db-wal", "assay.db-shm", "secret.key"} <= found.keys()
    assert set(found.values()) == {0o600}


def test_permissions_left_by_an_older_version_are_corrected_and_logged_once(tmp_path):
    folder = tmp_path / "data"
    cache = folder / "cache" / "embeddings"
    cache.mkdir(parents=True)
    for file in (folder / "assay.db", folder / "assay.db-wal", folder / "backup.db", cache / "x", folder / "mine.txt"):
        file.write_text("x")
    with capture_logs() as lines:
        open_data_folder(folder)
        open_data_folder(folder)
    assert [line["event"] for line in lines] == ["data directory was readable by others"]
    found = modes(folder)
    assert found.pop("mine.txt") == 0o644, "files of others are left alone"
    assert set(found.values()) == {0o700, 0o600}


def test_permissions_of_a_folder_shared_by_all_users_are_not_changed(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    open_data_folder(folder)
    assert mode(folder) == 0o777 | stat.S_ISVTX


def test_symbolic_links_in_the_data_folder_are_not_followed(tmp_path):
    other, folder = tmp_path / "other.txt", tmp_path / "data"
    other.write_text("x")
    folder.mkdir()
    (folder / "assay.db").symlink_to(other)
    open_data_folder(folder)
    assert mode(other) == 0o644


def test_only_the_owner_can_read_files_that_the_process_creates_later(tmp_path):
    open_data_folder(tmp_path / "data")
    file = tmp_path / "data" / "later"
    file.write_text("x")
    assert mode(file) == 0o600


def test_writing_a_private_file_replaces_an_older_file_and_leaves_no_temporary_file(tmp_path):
    file = tmp_path / "first-admin-key"
    file.write_text("old")
    write_private(file, "new")
    assert (file.read_text(), mode(file)) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [file]
