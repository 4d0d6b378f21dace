"""Uploaded files, addressed by content: equal bytes for the same purpose are stored once per tenant.

The content is stored in the database in chunks, because the service and its workers may share no file
system. At most one chunk is in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import BinaryIO

from sqlalchemy import ColumnElement, Connection, Text, cast, delete, exists, func, insert, or_, select

from assay.document import JsonObject
from assay.model import Kind
from store.core.columns import new_id, now_ms
from store.core.engines import insert_into
from store.core.errors import UploadInUse, UploadsFull
from store.core.rows import equal, json_part, one_row
from store.corpora.tables import upload_chunks, uploads
from store.jobs.tables import jobs
from store.quota import quota
from store.quota.tenant_rows import TenantRows

CHUNK_BYTES = 1 << 20

PREFIX = "upl"
"""Prefix of the ids of uploads."""


@dataclass(frozen=True)
class NewUpload:
    """Description of a new upload.

    `purpose` is ``table``, ``embedding`` or ``trials``. `digest` is ``sha256:`` and the hexadecimal digest of the
    file's bytes, `bytes` is the size of the file. `summary` is the result of `store.formats.inspect`.
    """

    tenant: str
    name: str
    purpose: str
    media_type: str
    digest: str
    bytes: int
    summary: JsonObject
    id: str = field(default_factory=lambda: new_id(PREFIX))


@dataclass(frozen=True, kw_only=True)
class StoredUpload(NewUpload):
    """An upload without its content. `created_at` is in milliseconds since 1970."""

    created_at: int


ROWS = TenantRows(uploads, StoredUpload)
page = ROWS.page


def add(
    c: Connection, new_upload: NewUpload, content: BinaryIO, quota_bytes: int | None = None
) -> tuple[StoredUpload, bool]:
    """Store a file, unless the tenant has uploaded the same bytes for the same purpose before.

    Return the upload, and whether it is new; an existing upload keeps its name and id, and gets the new summary.
    Raise `UploadsFull` if the tenant's uploads would take more than `quota_bytes` bytes, and `QuotaExceeded` if
    everything that the tenant stores would take more than the tenant's quota.
    """
    is_same_upload = equal(uploads, tenant=new_upload.tenant, digest=new_upload.digest, purpose=new_upload.purpose)
    # the lock of the counts is held until the end, so that concurrent uploads are added up
    quota.subtract_size(c, uploads, new_upload.tenant, *is_same_upload)  # if it exists: its summary changes
    statement = insert_into(c, uploads).values(created_at=now_ms(), **vars(new_upload))
    statement = statement.on_conflict_do_update(
        index_elements=[uploads.c.tenant, uploads.c.digest, uploads.c.purpose],
        set_={"summary": statement.excluded.summary, "media_type": statement.excluded.media_type},
    )
    upload = StoredUpload(**c.execute(statement.returning(uploads)).mappings().one())
    is_new = upload.id == new_upload.id
    if is_new and quota_bytes is not None and (total := stored_bytes(c, new_upload.tenant)) > quota_bytes:
        raise UploadsFull(stored=total - new_upload.bytes, size=new_upload.bytes, quota=quota_bytes)
    quota.add_size(c, uploads, new_upload.tenant, *is_same_upload)
    if not is_new:
        return upload, False
    content.seek(0)
    for chunk_number, chunk in enumerate(iter(lambda: content.read(CHUNK_BYTES), b"")):
        c.execute(insert(upload_chunks).values(upload_id=new_upload.id, place=chunk_number, content=chunk))
    return upload, True


def find(c: Connection, reference: str, tenant: str, purpose: str | None = None) -> StoredUpload | None:
    """Read a tenant's newest upload with this id or content digest (and `purpose`, if given); ``None`` if none fits."""
    has_reference = or_(uploads.c.id == reference, uploads.c.digest == reference)
    query = select(uploads).where(uploads.c.tenant == tenant, has_reference, *equal(uploads, purpose=purpose))
    return one_row(c, query.order_by(uploads.c.created_at.desc(), uploads.c.id.desc()).limit(1), StoredUpload)


def stored_bytes(c: Connection, tenant: str) -> int:
    """Return the size of all of a tenant's uploads."""
    query = select(func.coalesce(func.sum(uploads.c.bytes), 0)).where(uploads.c.tenant == tenant)
    return int(c.execute(query).scalar_one())


def remove(c: Connection, upload_id: str, tenant: str) -> bool:
    """Delete an upload and its content; return false if there is none. Raise `UploadInUse` if a job still needs it."""
    digest_query = select(uploads.c.digest).where(uploads.c.id == upload_id, uploads.c.tenant == tenant)
    digest = c.execute(digest_query).scalar_one_or_none()
    if digest is None:
        return False
    job_query = select(jobs.c.id).where(jobs.c.tenant == tenant, jobs.c.status.in_(("queued", "running")))
    # a job about recorded decisions holds their counts, and never reads the file again
    reads_files = func.coalesce(json_part(jobs.c.target, "kind"), "") != str(Kind.DECISION_TOOL)
    job_query = job_query.where(or_(_mentions(upload_id), _mentions(digest)), reads_files).limit(1)
    if (job_id := c.execute(job_query).scalar_one_or_none()) is not None:
        raise UploadInUse(upload_id, job_id)
    quota.subtract_size(c, uploads, tenant, uploads.c.id == upload_id)
    c.execute(delete(upload_chunks).where(upload_chunks.c.upload_id == upload_id))
    return c.execute(delete(uploads).where(uploads.c.id == upload_id)).rowcount > 0


def open_upload(c: Connection, upload_id: str) -> Iterator[bytes]:
    """Read the content of an upload in chunks; yield nothing if there is no such upload."""
    chunk_query = select(upload_chunks.c.content).where(upload_chunks.c.upload_id == upload_id)
    for chunk_number in count():
        chunk = c.execute(chunk_query.where(upload_chunks.c.place == chunk_number)).scalar_one_or_none()
        if chunk is None:
            return
        yield chunk


def copy_to(c: Connection, upload_id: str, file: BinaryIO) -> bool:
    """Copy the content of an upload to a file; return false if the upload was removed, also while copying."""
    file.writelines(open_upload(c, upload_id))
    return bool(c.execute(select(exists().where(uploads.c.id == upload_id))).scalar_one())


def _mentions(name: str) -> ColumnElement[bool]:
    """Return the condition that a job's experiment or target contains a name; both are JSON text."""
    columns = (jobs.c.experiment, jobs.c.target)
    return or_(*(cast(column, Text).contains(f'"{name}"', autoescape=True) for column in columns))
