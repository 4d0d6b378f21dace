"""Uploads: receive a file on disk, validate it, store it in the database, and read it for a job.

No step holds a whole file in memory. `store.formats` parses files, `store.corpora.uploads` stores them. Parsing
has separate threads, so that large files delay only each other.
"""

import asyncio
import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import structlog
from fastapi import Request

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.references import NamedDecisions
from service.container import Service
from service.http.problems import Problem
from store.core.errors import UploadsFull
from store.corpora import uploads
from store.corpora.uploads import NewUpload, StoredUpload
from store.formats import NPZ, PARQUET, XLSX
from store.formats.child import TASKS
from store.formats.limited import READERS, run_limited
from store.formats.table import sample_of

log = structlog.get_logger(__name__)

MAX_ROWS_OF_A_JOB = 20_000
"""Maximum number of table rows that a job holds (`assay.methods.shared.profiles.RecordProfiles`)."""

UPLOADED = "uploaded"
"""Protocol of targets whose vectors, trials or decisions are an upload (`workers.targets.protocols.uploaded`)."""

PIECE_BYTES = 1 << 20

PACKED = frozenset({PARQUET, NPZ, XLSX})
"""Media types of compressed files, which can unpack to more than their size."""

SMALL_BYTES = 1 << 18
"""Size in bytes up to which a text file is read in this process instead of a child process."""

MAX_RECEIVING, MAX_RECEIVING_OF_TENANT = 16, 4
"""Maximum number of files being received, in all and per tenant; each may fill the maximum size on disk."""

_receiving: Counter[str] = Counter()
"""Number of files being received from each tenant."""


@dataclass(frozen=True)
class ReceivedFile:
    """A received file, on disk: its digest (``sha256:…``), and its size in bytes."""

    file: BinaryIO
    digest: str
    bytes: int


@asynccontextmanager
async def received_file(request: Request, tenant: str) -> AsyncIterator[ReceivedFile]:
    """Write the body of a request to a temporary file, deleted at the end of the block.

    Raise `Problem` ``rate-limited`` while `MAX_RECEIVING` files are being received, or `MAX_RECEIVING_OF_TENANT` of
    this tenant.
    """
    if _receiving.total() >= MAX_RECEIVING or _receiving[tenant] >= MAX_RECEIVING_OF_TENANT:
        detail = f"at most {MAX_RECEIVING_OF_TENANT} uploads of a tenant, and {MAX_RECEIVING} in all, arrive at once"
        raise Problem("rate-limited", detail, headers={"Retry-After": "5"})
    _receiving[tenant] += 1
    try:
        with await asyncio.to_thread(_temporary_file) as file:
            digest, size, unwritten = hashlib.sha256(), 0, bytearray()
            async for chunk in request.stream():
                unwritten += chunk  # small chunks are written together, so that a slow client costs few threads
                if len(unwritten) >= PIECE_BYTES:
                    size += await asyncio.to_thread(_write_piece, file, digest, bytes(unwritten))
                    unwritten.clear()
            size += await asyncio.to_thread(_write_piece, file, digest, bytes(unwritten))
            yield ReceivedFile(file, f"sha256:{digest.hexdigest()}", size)
    finally:
        _receiving[tenant] -= 1


async def keep(
    service: Service,
    tenant: str,
    name: str,
    purpose: str,
    media_type: str,
    received: ReceivedFile,
    reading: Mapping[str, str] | None = None,
) -> tuple[StoredUpload, bool]:
    """Validate and store a file; return the stored upload, and whether it is new.

    `reading` has the sender's options for reading a table (`store.formats.table.inspect`). A file that is sent again
    with other options is read again.

    Raise `Unreadable` or `NotInstalled` if the file cannot be read; `UploadsFull` or `QuotaExceeded` if the tenant's
    uploads, or everything that it stores, would take more than is allowed.
    """
    upload = await service.database.read(uploads.find, received.digest, tenant, purpose)
    if upload and upload.media_type == media_type and upload.summary.get("reading") == (reading or None):
        return upload, False  # the same file was validated when it was first sent
    quota = service.settings.upload_quota_bytes
    stored_bytes = await service.database.read(uploads.stored_bytes, tenant)
    # the quota is checked again when the file is stored; this check saves the reading of a file that is too large
    if upload is None and stored_bytes + received.bytes > quota:
        raise UploadsFull(stored_bytes, received.bytes, quota)
    summary = await _run_task("inspect", received.file, purpose=purpose, media_type=media_type, **(reading or {}))
    summary |= {"reading": dict(reading)} if reading else {}
    new_upload = NewUpload(tenant, name, purpose, media_type, received.digest, received.bytes, summary)
    return await service.database.write(uploads.add, new_upload, received.file, quota)


async def rows_of(service: Service, tenant: str, reference: str, *, rng: np.random.Generator) -> list[JsonObject]:
    """Read the rows of the table with an id or digest; a random sample if there are over `MAX_ROWS_OF_A_JOB` rows.

    `rng` has the job's seed, so that the sample is repeatable. An unknown table is an error of the field ``upload``.
    """
    upload = await find_upload(service, tenant, reference, "table")
    sample = sample_of(upload.summary, MAX_ROWS_OF_A_JOB, rng)
    arguments = {"media_type": upload.media_type, "summary": upload.summary, "sample": sample}
    rows: list[JsonObject] = await _run_on_content(service, upload, "rows", **arguments)
    return rows


async def trials_of(service: Service, tenant: str, reference: str, *, field: str = "upload") -> list[JsonObject]:
    """Read an upload of trials (choices of a model or of people) by id or digest; `field` is named in errors."""
    upload = await find_upload(service, tenant, reference, "trials", field=field)
    rows: list[JsonObject] = await _run_on_content(service, upload, "trials", media_type=upload.media_type)
    return rows


async def decisions_of(service: Service, upload: StoredUpload, columns: NamedDecisions) -> JsonObject:
    """Count the people in an uploaded table of decisions; see `store.formats.decision_rows.read_decisions`.

    The table is read with the encoding, the decimal sign and the sheet that were sent with the upload.
    """
    arguments = {"media_type": upload.media_type, **asdict(columns), **upload.summary.get("reading", {})}
    counts: dict[str, Any] = await _run_on_content(service, upload, "decisions", **arguments)
    return counts


async def find_upload(
    service: Service, tenant: str, reference: str, purpose: str, *, field: str = "upload"
) -> StoredUpload:
    """Return the tenant's upload with this id or digest, and this purpose; if there is none, an error names `field`."""
    upload = await service.database.read(uploads.find, reference, tenant, purpose)
    if upload is None:
        article = "an" if purpose == "embedding" else "a"
        raise SpecificationError(
            f"no upload that is {article} {purpose} has the id or digest {reference[:80]!r}; "
            "POST /v1/uploads sends one",
            field,
        )
    return upload


async def _run_on_content(service: Service, upload: StoredUpload, task: str, **arguments: object) -> Any:
    with await asyncio.to_thread(_temporary_file) as file:
        if not await service.database.read(uploads.copy_to, upload.id, file):
            raise SpecificationError(f"the upload {upload.id} has just been removed", "upload")
        return await _run_task(task, file, **arguments)


async def _run_task(task: str, file: BinaryIO, **arguments: object) -> Any:
    """Run a task of `store.formats.child` on a file; in a child process, unless the file is small and uncompressed."""
    size = file.seek(0, os.SEEK_END)
    is_light = arguments.get("media_type") not in PACKED and size <= SMALL_BYTES
    work = partial(TASKS[task], file, **arguments) if is_light else partial(run_limited, task, file, **arguments)
    return await asyncio.get_running_loop().run_in_executor(READERS, work)


def _temporary_file() -> BinaryIO:
    try:
        return tempfile.TemporaryFile(prefix="assay-upload-")
    except OSError as error:
        raise _disk_full_problem(error) from error


def _write_piece(file: BinaryIO, digest: Any, piece: bytes) -> int:
    """Write a piece and add it to the digest; return the number of its bytes."""
    digest.update(piece)
    try:
        return file.write(piece)
    except OSError as error:
        raise _disk_full_problem(error) from error


def _disk_full_problem(error: OSError) -> Problem:
    log.warning("temporary file not written", why=str(error))
    detail = "the service can write no temporary file for an upload now: its TMPDIR is full or read-only"
    return Problem("store-unavailable", detail, headers={"Retry-After": "60"})
