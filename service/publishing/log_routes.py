"""``/v1/log``: transparency log of published and withdrawn ratings; public and read-only.

Nobody, the agency included, can change a logged entry unnoticed.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request, Response

from assay.evidence.checkpoint import Checkpoint
from service.dependencies import Here, Service
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
from store.ratings import log
from store.security import signing

router = APIRouter(prefix="/v1/log", tags=["log"], route_class=StrictRoute)

CACHED_BRIEFLY = "public, max-age=5"
"""``Cache-Control`` of answers that change when the log grows."""

CACHED_FOREVER = "public, max-age=31536000, immutable"
"""``Cache-Control`` of answers about a tree of a fixed size, which never change."""


@router.get("", response_model=HeadView)
async def get_log_head(request: Request, here: Here) -> Response:
    """Read the size of the log and its signed root hash."""
    key = await _signing_key(here)
    found = await here.database.read(log.head)
    headers = {"ETag": f'"{found.size}-{found.root.hex()[:16]}-{key.id}"', "Cache-Control": CACHED_BRIEFLY}
    if unchanged := not_modified(request, headers):
        return unchanged
    origin = _origin(here)
    note = Checkpoint(origin, found.size, found.root).signed(key.public_key, key.sign)
    head = HeadView(origin=origin, size=found.size, root=found.root, key_id=key.id, checkpoint=note)
    return json_response(head, headers=headers)


@router.get("/entries", response_model=EntryList)
async def list_log_entries(here: Here, query: Annotated[EntriesQuery, Query()]) -> Response:
    """List entries in the order of logging."""
    rows = await here.database.read(log.entries, query.start, query.limit + 1, rating_id=query.rating)
    return json_response(EntryList.of(rows, query.limit), headers={"Cache-Control": CACHED_BRIEFLY})


@router.get("/proof/inclusion", response_model=InclusionView)
async def prove_inclusion(request: Request, here: Here, query: Annotated[InclusionQuery, Query()]) -> Response:
    """Prove that an entry is in the log."""
    proof = await here.database.read(log.inclusion, query.position, query.size)
    headers = _tree_headers(f"{proof.position}-{proof.head.size}", fixed=query.size is not None)
    return not_modified(request, headers) or json_response(InclusionView.of(proof), headers=headers)


@router.get("/proof/consistency", response_model=ConsistencyView)
async def prove_consistency(request: Request, here: Here, query: Annotated[ConsistencyQuery, Query()]) -> Response:
    """Prove that the log only grew since it had `first` entries."""
    proof = await here.database.read(log.consistency, query.first, query.second)
    headers = _tree_headers(f"{proof.first.size}-{proof.second.size}", fixed=query.second is not None)
    return not_modified(request, headers) or json_response(ConsistencyView.of(proof), headers=headers)


async def _signing_key(here: Service) -> signing.SigningKey:
    """Return the current signing key; the first call creates it."""
    known = await here.database.read(signing.every)
    signs = any(key.retired_at is None for key in known)
    work = here.database.read if signs else here.database.write
    return await work(signing.current, here.vault)


def _origin(here: Service) -> str:
    """Return the name of the log: the operator's public address, never the host of a request."""
    public = urlsplit(here.settings.public_url or "")
    return f"{public.netloc}{public.path.rstrip('/')}{router.prefix}" if public.netloc else "assay/log"


def _tree_headers(name: str, *, fixed: bool) -> dict[str, str]:
    return {"ETag": f'"{name}"', "Cache-Control": CACHED_FOREVER if fixed else CACHED_BRIEFLY}
