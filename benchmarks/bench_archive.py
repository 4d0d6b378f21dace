"""`assay archive` of a month of ratings, and back: ``python -m benchmarks.bench_archive [RATINGS [DATABASE]]``.

For SQLite and Postgres: sizes of the database before, after the deletion, after an ordinary vacuum and after a full
one, the size of the files, and the times. Some certificates are verified and some ratings rated again from the archive,
then all is restored and compared.
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

from assay.methods import RoundTrip
from cli.agency.archive import archive, restore
from cli.rating.rerate import rerate_database
from cli.rating.verify import verify_file
from store.archive.months import database_size
from store.core import migrate
from store.core.columns import iso
from store.core.database import Connection, Database
from store.core.settings import Settings
from store.jobs.tables import observations
from store.ratings.tables import ratings
from store.security import signing
from store.security.secrets import Vault
from tests.support.postgres import PostgresServer
from tests.support.recorded_runs import recorded_run, store_copies, store_run

MONTH_MS = 1_768_478_400_000  # 2026-01-15
CHECKED = 20
BATCH = 100


def main() -> None:
    """Measure both databases, each in a directory of its own that is removed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chosen = sys.argv[2:] or ["SQLite", "Postgres"]
    if "SQLite" in chosen:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            measure("SQLite", f"sqlite:///{folder}/assay.db", Path(folder), count)
    if "Postgres" not in chosen:
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, PostgresServer.running() as server:
        server.execute("CREATE DATABASE bench")
        measure("Postgres", server.url("bench"), Path(folder), count)


def measure(name: str, url: str, folder: Path, count: int) -> None:
    """Fill a database, archive it and restore it."""
    settings = Settings(data_dir=folder, database_url=url)
    files = folder / "archive"
    files.mkdir()
    migrate.upgrade(url)
    with closing(Database(url)) as database:
        fill(database, settings, count)
        rows = _digest(database)
        print(f"{name}: {count:,} ratings, {rows[0]:,} observations, {_size(database):,.1f} MB")
        with _timed("archived"):
            archive(settings, datetime(2026, 2, 1), str(files), compact=False)  # noqa: DTZ001
        sizes = [file.stat().st_size for file in files.iterdir()]
        print(
            f"  {len(sizes)} files, {sum(sizes) / 1e6:,.1f} MB; database after the deletion {_size(database):,.1f} MB"
        )
        with database.read() as c:
            c.exec_driver_sql("VACUUM observations" if name == "Postgres" else "PRAGMA wal_checkpoint(TRUNCATE)")
            print(f"  after an ordinary vacuum {database_size(c) / 1e6:,.1f} MB{_free(c)}")
            with _timed("full vacuum"):
                size = database_size(c, compact=True)
        print(f"  after a full vacuum {size / 1e6:,.1f} MB")
        check(database, settings, files)
        with _timed("restored"):
            restore(settings, datetime(2026, 1, 1))  # noqa: DTZ001
        print(f"  {_size(database):,.1f} MB; rows are the same: {_digest(database) == rows}")


def fill(database: Database, settings: Settings, count: int) -> None:
    """Store `count` ratings of January with their evidence and certificates."""
    run = recorded_run(RoundTrip("gender", languages=("es",)))
    with database.write() as c:
        key = signing.current(c, Vault.from_settings(settings))
        job_id, _ = store_run(c, run, MONTH_MS)
    for start in range(1, count, BATCH):
        with database.write() as c:
            store_copies(c, run, job_id, min(BATCH, count - start), key)


def check(database: Database, settings: Settings, files: Path) -> None:
    """Verify some exports in the files, and rate some ratings again from them."""
    with database.read() as c:
        keys = {"keys": [key.as_jwk() for key in signing.all_keys(c)]}
        ids = list(c.execute(select(ratings.c.id).limit(CHECKED)).scalars())
    jwks, export = files.parent / "jwks.json", files.parent / "export.jsonl"
    jwks.write_text(json.dumps(keys))
    with tarfile.open(next(files.iterdir())) as tar, _timed(f"{CHECKED} exports verified and replayed"):
        members = [member for member in tar if ".export." in member.name]
        for member in members[:CHECKED]:
            content = tar.extractfile(member)
            assert content is not None
            export.write_bytes(gzip.decompress(content.read()))
            verify_file(export, keys=jwks, replay=True)
    with _timed(f"{CHECKED} ratings rated again from the archive"):
        assert rerate_database(settings, "current", ids) == 0


def _digest(database: Database) -> tuple[int, int]:
    """Return the number of rows, and a sum over their contents that does not depend on their order."""
    total = count = 0
    with database.write() as c:
        for row in c.execute(select(observations).execution_options(yield_per=1000)):
            count, total = count + 1, (total + hash(json.dumps(list(row)))) % 2**64
    return count, total


def _size(database: Database) -> float:
    with database.read() as c:
        return database_size(c) / 1e6


def _free(c: Connection) -> str:
    if c.dialect.name == "postgresql":
        return ""
    pages = c.exec_driver_sql("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
    return f", of which {pages.scalar_one() / 1e6:,.1f} MB are free for new rows"


@contextmanager
def _timed(what: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    print(f"  {iso(round(time.time() * 1000))} {what}: {time.monotonic() - start:,.1f} s", flush=True)


if __name__ == "__main__":
    main()
