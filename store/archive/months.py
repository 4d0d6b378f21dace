"""Moving the observations of old jobs into archive files, and back.

A tar file holds each job's signed export (``RATING.export.jsonl.gz``) and rows (``JOB.ledger.jsonl.gz``), and a
manifest with their digests; the name of the file holds the digest of the file. The file is read back and compared
before rows are deleted, and the deletion is one transaction with the insertion of the job's position in the file. So
an interrupted run loses nothing; repeated, it writes equal files.
"""

import gzip
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from hashlib import file_digest, sha256
from itertools import groupby

from sqlalchemy import Connection, delete, exists, insert, select

from assay.document import JsonObject
from assay.errors import CertificateError, RecordError, SpecificationError
from assay.evidence.export import line
from store.archive import places
from store.core.columns import iso
from store.core.database import Database
from store.core.rows import one_row
from store.jobs.tables import archived, jobs, observations
from store.ratings.ratings import StoredRating
from store.ratings.tables import ratings

JOBS_A_FILE, BYTES_A_FILE, JOBS_A_TRANSACTION = 1_000, 256 << 20, 50
"""Maximum number of jobs and of bytes in an archive file; number of jobs that one transaction moves there."""
Export = Callable[[StoredRating], bytes]


def archive(database: Database, before_ms: int, location: str, export: Export) -> Iterator[list[places.Archived]]:
    """Move observations of jobs ended before `before_ms`, with ratings' exports, to files; yield the jobs of each."""
    last_id = ""
    while True:
        with database.read() as c:
            month, job_ids = _next_month_and_job_ids(c, last_id, before_ms)
            if not job_ids:
                return
            archived_jobs = _write_file(c, month, job_ids, location, export)
            row_counts = [_verified_row_count(c, job) for job in archived_jobs]
        for start in range(0, len(archived_jobs), JOBS_A_TRANSACTION):
            with database.write() as c:
                batch = slice(start, start + JOBS_A_TRANSACTION)
                _delete_observations(c, archived_jobs[batch], row_counts[batch])
        yield archived_jobs
        last_id = archived_jobs[-1].job_id


def restore(database: Database, month: str) -> int:
    """Move a month's archived observations back to the database; return their number. Raise as `Archived.rows`."""
    query = select(archived).where(archived.c.month == month).order_by(archived.c.job_id).limit(1)
    restored_count = 0
    while True:
        with database.read() as c:
            if (job := one_row(c, query, places.Archived)) is None:
                return restored_count
        rows = job.rows()
        with database.write() as c:
            # false if another run has restored this job meanwhile
            if c.execute(delete(archived).where(archived.c.job_id == job.job_id)).rowcount:
                c.execute(insert(observations), rows)
                restored_count += len(rows)


def database_size(c: Connection, *, compact: bool = False) -> int:
    """Return the size of the database in bytes; `compact` first returns free space to the disk, and blocks writing."""
    vacuum_sql, size_sql = "VACUUM", "page_count * page_size FROM pragma_page_count, pragma_page_size"
    if c.dialect.name == "postgresql":
        vacuum_sql, size_sql = "VACUUM (FULL, ANALYZE) observations", "pg_database_size(current_database())"
    if compact:
        c.exec_driver_sql(vacuum_sql)
    return int(c.exec_driver_sql(f"SELECT {size_sql}").scalar_one())


def _next_month_and_job_ids(c: Connection, last_id: str, before_ms: int) -> tuple[str, list[str]]:
    """Return a month (``2026-01``) and the next `JOBS_A_FILE` or fewer ids of its jobs to archive; no ids: end."""
    has_rows = exists().where(observations.c.job_id == jobs.c.id)  # false if they are archived already
    query = select(jobs.c.id, jobs.c.created_at).where(jobs.c.id > last_id, jobs.c.finished_at < before_ms, has_rows)
    rows = c.execute(query.order_by(jobs.c.id).limit(JOBS_A_FILE)).all()
    # a file has jobs of one month, so only those before the first job of another month are taken
    month, rows_of_month = next(groupby(rows, lambda row: iso(row.created_at)[:7]), ("", ()))
    return month, [row.id for row in rows_of_month]


def _write_file(c: Connection, month: str, ids: Sequence[str], location: str, export: Export) -> list[places.Archived]:
    """Write a file with the first jobs of `ids`, up to about `BYTES_A_FILE`; return each job's position in the file."""
    entries = list[JsonObject]()
    with tempfile.TemporaryFile() as file:
        for job_id in ids:
            tar_members, start = _tar_members_of_job(c, job_id, export), file.tell()
            file.write(tar_members)
            digest = sha256(tar_members).hexdigest()
            entries.append({"job_id": job_id, "digest": digest, "start": start, "size": len(tar_members)})
            if file.tell() >= BYTES_A_FILE:
                break
        manifest = line({"format": "assay-archive/1", "month": month, "jobs": entries})  # canonical JSON
        # two empty blocks end a tar file
        ending = _tar_member("MANIFEST.json", manifest) + bytes(2 * tarfile.BLOCKSIZE)
        manifest_start = file.tell()
        file.write(ending)
        file.seek(0)
        name = f"{month}-{file_digest(file, 'sha256').hexdigest()}.tar"
        file.seek(0)
        places.put(location, name, file)
    # only the end of the file is checked here; `_verified_row_count` compares the rows of each job
    if places.read(location, name, manifest_start, len(ending)) != ending:
        raise CertificateError(f"{name} in {location} is not what was written; nothing of it was deleted")
    return [places.Archived(month=month, location=location, file=name, **entry) for entry in entries]


def _tar_members_of_job(c: Connection, job_id: str, export: Export) -> bytes:
    """Return the export of a job's rating, if it can be exported, and the job's rows, as members of a tar file."""
    job_rows = _tar_member(f"{job_id}.ledger.jsonl.gz", "\n".join(_rows_as_json(c, job_id)).encode())
    rating = one_row(c, select(ratings).where(ratings.c.job_id == job_id), StoredRating)
    try:
        return job_rows if rating is None else _tar_member(f"{rating.id}.export.jsonl.gz", export(rating)) + job_rows
    except (RecordError, SpecificationError):  # a job with incomplete evidence has no export
        return job_rows


def _tar_member(name: str, content: bytes) -> bytes:
    """Return a tar member: header, content (compressed for a name in ``.gz``), and zeros that fill the last block."""
    stored_content = gzip.compress(content, compresslevel=6, mtime=0) if name.endswith(".gz") else content
    header = tarfile.TarInfo(name)
    header.size = len(stored_content)
    return header.tobuf() + stored_content + bytes(-len(stored_content) % tarfile.BLOCKSIZE)


def _rows_as_json(c: Connection, job_id: str) -> list[str]:
    query = select(observations).where(observations.c.job_id == job_id).order_by(observations.c.seq)
    return [json.dumps(dict(row)) for row in c.execute(query).mappings()]


def _verified_row_count(c: Connection, job: places.Archived) -> int:
    """Count a job's rows in the database; raise `CertificateError` if they differ from those in its archive file."""
    rows = _rows_as_json(c, job.job_id)
    if [json.dumps(row) for row in job.rows()] != rows:
        raise CertificateError(f"{job.file} does not have the observations of {job.job_id}; nothing was deleted")
    return len(rows)


def _delete_observations(c: Connection, archived_jobs: Sequence[places.Archived], row_counts: Sequence[int]) -> None:
    deletion = c.execute(delete(observations).where(observations.c.job_id.in_([job.job_id for job in archived_jobs])))
    if deletion.rowcount != (count := sum(row_counts)):
        raise CertificateError(f"{deletion.rowcount} rows were found instead of {count}: another run is at work")
    c.execute(insert(archived), [vars(job) for job in archived_jobs])
