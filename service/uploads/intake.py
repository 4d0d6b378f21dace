"""How a file comes in and goes to a job: streamed to disk, read once to see what it is, kept in the database.

No step holds a whole file in memory. What a file is, `store.formats` knows; where it is kept,
`store.corpora.uploads`. Reading runs in threads of its own, few of them, so that large files delay each
other and not the requests of everybody else.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, ParamSpec, TypeVar

import numpy as np
from fastapi import Request

from assay.errors import SpecificationError
from service.dependencies import Service
from store import formats
from store.corpora import uploads
from store.corpora.uploads import NewUpload, StoredUpload
from store.formats.table import TableRows, read_rows
from store.formats.trials import read_trials

MOST_ROWS_OF_A_JOB = 20_000
"""Rows a job may carry (`assay.methods.shared.profiles.RecordProfiles`)."""

UPLOADED = "uploaded"
"""The protocol of targets whose vectors are an upload (`workers.targets.protocols.uploaded`, not imported here)."""

PIECE_BYTES = 1 << 20

_READERS = ThreadPoolExecutor(2, thread_name_prefix="uploads")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Received:
    """A file that came in, on disk."""

    file: BinaryIO
    digest: str
    bytes: int


@asynccontextmanager
async def received(request: Request) -> AsyncIterator[Received]:
    """Write a request's body to a file that is gone at the end of the block."""
    with await asyncio.to_thread(_temporary) as file:
        digest, size, piece = hashlib.sha256(), 0, bytearray()
        async for part in request.stream():
            piece += part
            if len(piece) >= PIECE_BYTES:
                size += await asyncio.to_thread(_take, file, digest, bytes(piece))
                piece.clear()
        size += await asyncio.to_thread(_take, file, digest, bytes(piece))
        yield Received(file, f"sha256:{digest.hexdigest()}", size)


async def keep(
    here: Service, tenant: str, name: str, purpose: str, media_type: str, came: Received
) -> tuple[StoredUpload, bool]:
    """Read a file to see what it is, and keep it.

    Returns
    -------
    (StoredUpload, bool)
        What is kept, and whether it was new.

    Raises
    ------
    Unreadable, NotInstalled
        If it cannot be kept.
    """
    known = await here.database.read(uploads.find, came.digest, tenant, purpose)
    if known is not None and known.media_type == media_type:
        return known, False  # it was read when it came first
    summary = await _reading(formats.inspect, came.file, purpose, media_type)
    new = NewUpload(tenant, name, purpose, media_type, came.digest, came.bytes, summary)
    return await here.database.write(uploads.add, new, came.file)


async def rows_of(
    here: Service, tenant: str, named: str, *, rng: np.random.Generator, most: int = MOST_ROWS_OF_A_JOB
) -> TableRows:
    """Read the rows of an uploaded table for a job, or a random part of them if they are more than `most`.

    Parameters
    ----------
    here : Service
    tenant : str
        Whose table it must be.
    named : str
        Its id, or the digest of its content.
    rng : Generator
        Picks the rows: with the job's seed, the same ones again.
    most : int
        Most rows.

    Raises
    ------
    SpecificationError
        If there is no such table, with the field ``"upload"``.
    """
    upload = await found(here, tenant, named, "table")
    reading = partial(read_rows, media_type=upload.media_type, summary=upload.summary, most=most, rng=rng)
    return await _with_content(here, upload, reading)


async def trials_of(here: Service, tenant: str, named: str, *, field: str = "upload") -> list[dict[str, Any]]:
    """Read uploaded trials for a job (`store.formats.trials.read_trials`).

    Raises
    ------
    SpecificationError
        If there are no such trials, with `field`.
    """
    return await _with_content(here, await found(here, tenant, named, "trials", field=field), read_trials)


async def check_embedding(here: Service, tenant: str, target: Mapping[str, Any]) -> None:
    """Refuse a target whose vectors are an upload that the tenant does not have; any other target passes.

    Parameters
    ----------
    target : mapping
        Its description, with ``protocol`` and ``settings``.

    Raises
    ------
    SpecificationError
        With the field ``"settings.upload"``.
    """
    if target["protocol"] == UPLOADED:
        await found(here, tenant, target["settings"]["upload"], "embedding", field="settings.upload")


async def found(here: Service, tenant: str, named: str, purpose: str, *, field: str = "upload") -> StoredUpload:
    """Find the upload that a job or a target names.

    Raises
    ------
    SpecificationError
        If the tenant has none for this purpose, with `field`.
    """
    upload = await here.database.read(uploads.find, named, tenant, purpose)
    if upload is None:
        article = "an" if purpose == "embedding" else "a"
        raise SpecificationError(
            f"no upload that is {article} {purpose} has the id or digest {named[:80]!r}; POST /v1/uploads sends one",
            field,
        )
    return upload


async def _with_content(here: Service, upload: StoredUpload, reading: Callable[[BinaryIO], T]) -> T:
    with await asyncio.to_thread(_temporary) as file:
        if not await here.database.read(uploads.copy_to, upload.id, file):
            raise SpecificationError(f"the upload {upload.id} was removed a moment ago", "upload")
        return await _reading(reading, file)


async def _reading(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(_READERS, partial(work, *args, **kwargs))


def _temporary() -> BinaryIO:
    return tempfile.TemporaryFile(prefix="assay-upload-")


def _take(file: BinaryIO, digest: Any, piece: bytes) -> int:
    digest.update(piece)
    return file.write(piece)
