"""``/v1/log``: transparency log of published and withdrawn ratings; public and read-only.

Nobody, the agency included, can change a logged entry unnoticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from assay.evidence.checkpoint import ED25519, Checkpoint
from assay.evidence.cosignature import VerifierKey
from service.certificates.signatures import signing_key
from service.dependencies import ServiceDependency
from service.http.conditional import not_modified
from service.http.json import StrictRoute, json_response
from service.publishing.log_schemas import (
    ConsistencyQuery,
    ConsistencyView,
    EntriesQuery,
    EntryList,
    HeadView,
    InclusionQuery,
    InclusionView,
)
from store.core.database import Connection
from store.ratings import log, witnessing
from store.ratings.log import TreeHead
from store.security.signing import SigningKey

router = APIRouter(prefix=witnessing.LOG_PATH, tags=["log"], route_class=StrictRoute)

CACHED_BRIEFLY = "public, max-age=5"
"""``Cache-Control`` of answers that change when the log grows."""

CACHED_FOREVER = "public, max-age=31536000, immutable"
"""``Cache-Control`` of answers about a tree of a fixed size, which never change."""


@router.get("", response_model=HeadView)
async def get_log_head(request: Request, service: ServiceDependency) -> Response:
    """Read the size of the log and its signed root hash."""
    key, origin = await signing_key(service), witnessing.log_name(service.settings.public_url)
    tree_head, cosigned = await service.database.read(_head, origin)
    headers = _note_headers(tree_head, key, cosigned)
    if unchanged := not_modified(request, headers):
        return unchanged
    head = HeadView(
        origin=origin,
        size=tree_head.size,
        root=tree_head.root,
        key_id=key.id,
        verifier_key=str(VerifierKey(origin, ED25519, key.public_key)),
        checkpoint=await _note(origin, tree_head, key, cosigned),
    )
    return json_response(head, headers=headers)


@router.get("/checkpoint", response_class=Response)
async def get_checkpoint(request: Request, service: ServiceDependency) -> Response:
    """Read the newest checkpoint that a witness cosigned, or else the current checkpoint, as a signed note."""
    key, origin = await signing_key(service), witnessing.log_name(service.settings.public_url)
    tree_head, cosigned = await service.database.read(_cosigned_head, origin)
    headers = _note_headers(tree_head, key, cosigned)
    if unchanged := not_modified(request, headers):
        return unchanged
    return Response(await _note(origin, tree_head, key, cosigned), 200, headers, "text/plain; charset=utf-8")


@router.get("/entries", response_model=EntryList)
async def list_log_entries(service: ServiceDependency, query: Annotated[EntriesQuery, Query()]) -> Response:
    """List entries in the order of logging."""
    rows = await service.database.read(log.entries, query.start, query.limit + 1, rating_id=query.rating)
    return json_response(EntryList.of(rows, query.limit), headers={"Cache-Control": CACHED_BRIEFLY})


@router.get("/proof/inclusion", response_model=InclusionView)
async def prove_inclusion(
    request: Request, service: ServiceDependency, query: Annotated[InclusionQuery, Query()]
) -> Response:
    """Prove that an entry is in the log."""
    proof = await service.database.read(log.inclusion, query.position, query.size)
    headers = _tree_headers(f"{proof.position}-{proof.head.size}", fixed=query.size is not None)
    return not_modified(request, headers) or json_response(InclusionView.of(proof), headers=headers)


@router.get("/proof/consistency", response_model=ConsistencyView)
async def prove_consistency(
    request: Request, service: ServiceDependency, query: Annotated[ConsistencyQuery, Query()]
) -> Response:
    """Prove that the log only grew since it had `first` entries."""
    proof = await service.database.read(log.consistency, query.first, query.second)
    headers = _tree_headers(f"{proof.first.size}-{proof.second.size}", fixed=query.second is not None)
    return not_modified(request, headers) or json_response(ConsistencyView.of(proof), headers=headers)


def _head(c: Connection, origin: str) -> tuple[TreeHead, list[str]]:
    tree_head = log.head(c)
    return tree_head, witnessing.lines(c, origin, tree_head.size)


def _cosigned_head(c: Connection, origin: str) -> tuple[TreeHead, list[str]]:
    size = witnessing.newest_size(c, origin)
    return (log.head(c, size), witnessing.lines(c, origin, size)) if size else _head(c, origin)


async def _note(origin: str, tree_head: TreeHead, key: SigningKey, cosigned: Sequence[str]) -> str:
    note = await asyncio.to_thread(_signed_note, Checkpoint(origin, tree_head.size, tree_head.root), key)
    return note + "".join(f"{line}\n" for line in cosigned)


@lru_cache(16)
def _signed_note(checkpoint: Checkpoint, key: SigningKey) -> str:
    """Sign a checkpoint; cached, because a key outside the database can take long, and signatures never differ."""
    return checkpoint.signed(key.public_key, key.sign)


def _note_headers(tree_head: TreeHead, key: SigningKey, cosigned: Sequence[str]) -> dict[str, str]:
    etag = f"{tree_head.size}-{tree_head.root.hex()[:16]}-{key.id}-{len(cosigned)}"
    return {"ETag": f'"{etag}"', "Cache-Control": CACHED_BRIEFLY}


def _tree_headers(name: str, *, fixed: bool) -> dict[str, str]:
    return {"ETag": f'"{name}"', "Cache-Control": CACHED_FOREVER if fixed else CACHED_BRIEFLY}
