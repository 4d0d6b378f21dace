"""Archives of observations in a folder or an S3-compatible store, and the position of a job in an archive file."""

import gzip
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, select

from assay.document import JsonObject
from assay.errors import AssayError, SpecificationError
from store.core.errors import EvidenceArchived
from store.core.rows import one_row
from store.formats.refusal import NotInstalled
from store.jobs.tables import archived

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def _open_bucket(location: str) -> Iterator[tuple[ModuleType, object]]:
    """Yield the package obstore, and its client of the bucket ``s3://…``, configured by the variables ``AWS_…``."""
    try:
        import obstore.store
    except ImportError:
        raise NotInstalled("an archive in an S3-compatible store", "obstore", "s3") from None
    try:
        yield obstore, obstore.store.from_url(location)
    except obstore.exceptions.BaseError as error:
        raise OSError(str(error)) from None


def put(location: str, name: str, content: BinaryIO) -> None:
    """Store a file in a folder or bucket; it gets its `name` only when it is complete. Raise `OSError` on failure."""
    if location.startswith("s3://"):
        with _open_bucket(location) as (obstore, bucket):
            obstore.put(bucket, name, content)
        return
    if not (folder := Path(location)).is_dir():
        raise SpecificationError(f"{location} is neither a folder that exists nor s3://bucket/prefix")
    partial_file = folder / f".{name}.partial"
    with partial_file.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        shutil.copyfileobj(content, file, length=1 << 20)
        file.flush()
        os.fsync(file.fileno())
    partial_file.replace(folder / name)
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)  # otherwise the new name might not survive a power failure
    os.close(descriptor)


def read(location: str, name: str, start: int, size: int) -> bytes:
    """Read a part of a file; raise `OSError` if that fails."""
    if location.startswith("s3://"):
        with _open_bucket(location) as (obstore, bucket):
            return bytes(obstore.get_range(bucket, name, start=start, length=size))
    with (Path(location) / name).open("rb") as file:
        file.seek(start)
        return file.read(size)


@dataclass(frozen=True)
class Archived:
    """Row of `store.jobs.tables.archived`: the archive file of a job's observations, and their position in it."""

    job_id: str
    month: str
    location: str
    file: str
    digest: str
    start: int
    size: int

    def rows(self) -> list[JsonObject]:
        """Read the job's rows from the file; raise `EvidenceArchived` if they cannot be read, or were altered."""
        problem = ", which was altered"
        try:
            tar_members = read(self.location, self.file, self.start, self.size)
        except (OSError, AssayError) as error:  # refused below, because the digest of b"" differs
            tar_members, problem = b"", f", which cannot be read ({type(error).__name__})"
        if sha256(tar_members).hexdigest() != self.digest:
            raise EvidenceArchived(self.job_id, self.month, self.file, problem)
        with tarfile.open(fileobj=BytesIO(tar_members)) as tar:  # the last member holds the rows
            compressed_rows = (tar.extractfile(tar.getmembers()[-1]) or BytesIO()).read()
        return [json.loads(line) for line in gzip.decompress(compressed_rows).splitlines()]


def find(c: Connection, job_id: str) -> Archived | None:
    """Read in which archive file the observations of a job are; ``None`` if they are in the database."""
    return one_row(c, select(archived).where(archived.c.job_id == job_id), Archived)


def unless_archived(read: Callable[Concatenate[Connection, str, P], T]) -> Callable[Concatenate[Connection, str, P], T]:
    """Decorate ``read(c, job_id, …)``: raise `EvidenceArchived` if it returns nothing because the job is archived."""

    @wraps(read)
    def read_unless_archived(c: Connection, job_id: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result = read(c, job_id, *args, **kwargs)
        if not result and (archived_job := find(c, job_id)) is not None:
            raise EvidenceArchived(archived_job.job_id, archived_job.month, archived_job.file)
        return result

    return read_unless_archived
