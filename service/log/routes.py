"""``/v1/log``: transparency log of published and withdrawn ratings; ``/v1/witness``: cosignatures for other logs.

Nobody, the agency included, can change a logged entry unnoticed. As a witness (C2SP tlog-witness), the agency cosigns
another log's head only if this head extends the head that it cosigned before. The operator chooses the logs to witness
(`Settings.witnessed_logs`).
"""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from assay.document import JsonObject
from assay.evidence.checkpoint import ED25519, BadCheckpoint, Checkpoint, is_signed_by, read_note
from assay.evidence.cosignature import COSIGNATURE, AddCheckpoint, VerifierKey, cosign
from service.certificates.service import signing_key
from service.container import ServiceDependency
from service.http.json import StrictRoute, json_response
from service.http.openapi.responses import ETAG, TAGGED, fails, returns
from service.http.problems import Problem, not_found
from service.http.rate_limit import VISITS, address_of
from service.log.schemas import (
    ConsistencyQuery,
    ConsistencyView,
    EntriesQuery,
    EntryList,
    HeadView,
    InclusionQuery,
    InclusionView,
    LogEntryView,
    WitnessView,
)
from store.core.database import Connection
from store.core.errors import OtherHead
from store.ratings import log, witnessing
from store.ratings.log import TreeHead
from store.security.signing import SigningKey, is_signature

router = APIRouter(prefix=witnessing.LOG_PATH, tags=["log"], route_class=StrictRoute)
witness = APIRouter(prefix=witnessing.WITNESS_PATH, tags=["log"], route_class=StrictRoute)

CACHED_BRIEFLY = "public, max-age=5"
"""``Cache-Control`` of answers that change when the log grows."""

CACHED_FOREVER = "public, max-age=31536000, immutable"
"""``Cache-Control`` of answers about a tree of a fixed size, which never change."""

MOST_BYTES = 1 << 16
"""Maximum size of a request to the witness: 63 hashes and a note with many signatures."""

SIZE_TYPE = "text/x.tlog.size"

_SIZE, _HASH = "(0|[1-9][0-9]{0,17})", "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="
_PATTERN = (
    rf"^old {_SIZE}\n({_HASH}\n){{0,63}}\n[!-~]+\n{_SIZE}\n{_HASH}\n([ -~]+\n)*\n(\u2014 [!-~]+ [A-Za-z0-9+/=]+\n)+$"
)
_BODY: JsonObject = {
    "requestBody": {
        "required": True,
        "description": "The line `old N`, the consistency proof, an empty line, and the signed checkpoint.",
        "content": {"text/plain": {"schema": {"type": "string", "pattern": _PATTERN}}},
    }
}
_CONFLICT: dict[int | str, JsonObject] = {
    409: {
        "description": "The old size is not that of the latest cosigned checkpoint, whose size is the body.",
        "content": {SIZE_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.get("", response_model=HeadView, responses=TAGGED)
async def get_log_head(service: ServiceDependency) -> Response:
    """Read the size of the log and its signed root hash."""
    key, origin = await signing_key(service), witnessing.log_name(service.settings.public_url)
    tree_head, cosignatures = await service.database.read(_read_head, origin)
    headers = _note_headers(tree_head, key, cosignatures)
    head = HeadView(
        origin=origin,
        size=tree_head.size,
        root=tree_head.root,
        key_id=key.id,
        verifier_key=str(VerifierKey(origin, ED25519, key.public_key)),
        checkpoint=await _cosigned_note(origin, tree_head, key, cosignatures),
    )
    return json_response(head, headers=headers)


@router.get("/checkpoint", response_class=Response, responses=returns(ETAG, "text/plain"))
async def get_checkpoint(service: ServiceDependency) -> Response:
    """Read the newest checkpoint that a witness cosigned, or else the current checkpoint, as a signed note."""
    key, origin = await signing_key(service), witnessing.log_name(service.settings.public_url)
    tree_head, cosignatures = await service.database.read(_read_cosigned_head, origin)
    headers = _note_headers(tree_head, key, cosignatures)
    note = await _cosigned_note(origin, tree_head, key, cosignatures)
    return Response(note, headers=headers, media_type="text/plain; charset=utf-8")


@router.get("/entries", response_model=EntryList)
async def list_log_entries(service: ServiceDependency, query: Annotated[EntriesQuery, Query()]) -> Response:
    """List entries in the order of logging."""
    rows = await service.database.read(log.entries, query.start, query.limit + 1, rating_id=query.rating)
    next_start = rows[query.limit].position if len(rows) > query.limit else None
    entries = EntryList(items=[LogEntryView.from_row(row) for row in rows[: query.limit]], next_start=next_start)
    return json_response(entries, headers={"Cache-Control": CACHED_BRIEFLY})


@router.get("/proof/inclusion", response_model=InclusionView, responses=TAGGED)
async def prove_inclusion(service: ServiceDependency, query: Annotated[InclusionQuery, Query()]) -> Response:
    """Prove that an entry is in the log."""
    proof = await service.database.read(log.inclusion, query.position, query.size)
    headers = _tree_headers(f"{proof.position}-{proof.head.size}", is_fixed=query.size is not None)
    return json_response(InclusionView.from_row(proof, tree=proof.head), headers=headers)


@router.get("/proof/consistency", response_model=ConsistencyView, responses=TAGGED)
async def prove_consistency(service: ServiceDependency, query: Annotated[ConsistencyQuery, Query()]) -> Response:
    """Prove that the log only grew since it had `first` entries."""
    proof = await service.database.read(log.consistency, query.first, query.second)
    headers = _tree_headers(f"{proof.first.size}-{proof.second.size}", is_fixed=query.second is not None)
    return json_response(ConsistencyView.from_row(proof), headers=headers)


def _read_head(c: Connection, origin: str) -> tuple[TreeHead, list[str]]:
    tree_head = log.head(c)
    return tree_head, witnessing.lines(c, origin, tree_head.size)


def _read_cosigned_head(c: Connection, origin: str) -> tuple[TreeHead, list[str]]:
    size = witnessing.newest_size(c, origin)
    return (log.head(c, size), witnessing.lines(c, origin, size)) if size else _read_head(c, origin)


async def _cosigned_note(origin: str, tree_head: TreeHead, key: SigningKey, cosignatures: Sequence[str]) -> str:
    note = await asyncio.to_thread(_signed_note, Checkpoint(origin, tree_head.size, tree_head.root), key)
    return note + "".join(f"{line}\n" for line in cosignatures)


@lru_cache(16)
def _signed_note(checkpoint: Checkpoint, key: SigningKey) -> str:
    """Return a checkpoint as a signed note; cached, because a remote key can be slow and signatures never differ."""
    return checkpoint.signed(key.public_key, key.sign)


def _note_headers(tree_head: TreeHead, key: SigningKey, cosignatures: Sequence[str]) -> dict[str, str]:
    etag = f"{tree_head.size}-{tree_head.root.hex()[:16]}-{key.id}-{len(cosignatures)}"
    return {"ETag": f'"{etag}"', "Cache-Control": CACHED_BRIEFLY}


def _tree_headers(name: str, *, is_fixed: bool) -> dict[str, str]:
    return {"ETag": f'"{name}"', "Cache-Control": CACHED_FOREVER if is_fixed else CACHED_BRIEFLY}


@witness.get("", response_model=WitnessView)
async def get_witness(service: ServiceDependency) -> Response:
    """Read the name and key of this witness, and the logs that it witnesses."""
    key, heads = await signing_key(service), await service.database.read(witnessing.heads)
    own_key = VerifierKey(witnessing.witness_name(service.settings.public_url), COSIGNATURE, key.public_key)
    origins = dict.fromkeys(log_key.name for log_key in service.settings.witnessed_keys)  # a log can have several keys
    logs = [{"origin": origin, "size": heads[origin].size if origin in heads else 0} for origin in origins]
    return json_response(WitnessView(name=own_key.name, verifier_key=str(own_key), logs=logs))


@witness.post(
    "/add-checkpoint",
    response_class=Response,
    response_description="Cosigned: a signature line of this witness.",
    openapi_extra=_BODY,
    responses=returns({}, "text/plain") | fails(403, 404, 429) | _CONFLICT,
)
async def add_checkpoint(request: Request, service: ServiceDependency) -> Response:
    """Cosign the checkpoint of a witnessed log, if it extends the latest cosigned checkpoint."""
    path = f"{witness.prefix}/add-checkpoint"
    await service.rate_limiter.take(address_of(request), work=VISITS)
    body = await request.body()
    try:
        submission, checkpoint = _signed_request(body, service.settings.witnessed_keys)
    except Problem:  # unknown callers share a limit, so that they cannot use up the limit of a witnessed log
        await service.rate_limiter.admit("POST", path, "strangers at the witness")
        raise
    await service.rate_limiter.admit("POST", path, f"log {checkpoint.origin}")
    head = TreeHead(checkpoint.size, checkpoint.root)
    try:
        time_s = await service.database.write(
            witnessing.witness, checkpoint.origin, submission.old, head, submission.proof
        )
    except OtherHead as error:
        return Response(f"{error.size}\n", 409, {"Content-Type": SIZE_TYPE})  # exactly this type, without a charset
    # signed after the head is stored: if signing fails, the log can repeat the request with this head as the old head
    key = await signing_key(service)
    own_key = VerifierKey(witnessing.witness_name(service.settings.public_url), COSIGNATURE, key.public_key)
    cosignature = await asyncio.to_thread(cosign, checkpoint.text(), own_key, key.sign, time_s)
    return Response(cosignature, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"})


def _signed_request(body: bytes, keys: Sequence[VerifierKey]) -> tuple[AddCheckpoint, Checkpoint]:
    """Return a parsed request and its checkpoint; raise `Problem` if no known key of the log signed the checkpoint."""
    if len(body) > MOST_BYTES:
        raise Problem("body-too-large", f"a request for a cosignature has at most {MOST_BYTES:,} bytes")
    try:
        submission = AddCheckpoint.read(body)
        checkpoint, signatures = read_note(submission.note)
        public_keys = [log_key.public_key for log_key in keys if log_key.name == checkpoint.origin]
        is_signed = any(is_signed_by(checkpoint, signatures, key, is_signature) for key in public_keys)
    except BadCheckpoint as error:
        raise Problem("malformed-checkpoint", str(error)) from None
    if not public_keys:
        raise not_found("witnessed log", checkpoint.origin)
    if not is_signed:
        raise Problem("checkpoint-not-signed", f"no known key of {checkpoint.origin[:200]} signed the checkpoint")
    if submission.old > checkpoint.size:
        detail = f"the old size {submission.old} is greater than the checkpoint's {checkpoint.size}"
        raise Problem("malformed-checkpoint", detail)
    return submission, checkpoint
