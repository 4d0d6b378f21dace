"""``/v1/witness``: this agency as a witness of the logs of others (C2SP tlog-witness); public.

It cosigns a log's head only if this head extends the head that it cosigned before. The operator chooses the logs to
witness (`Settings.witnessed_logs`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response

from assay.evidence.checkpoint import BadCheckpoint, Checkpoint, is_signed_by, read_note
from assay.evidence.cosignature import COSIGNATURE, AddCheckpoint, VerifierKey, cosign
from service.certificates.signatures import signing_key
from service.dependencies import ServiceDependency
from service.http.json import StrictRoute, json_response
from service.http.problems import Problem, not_found
from service.http.rate_limit import VISITS, address_of
from service.publishing.log_schemas import WitnessView
from store.core.errors import OtherHead
from store.ratings import witnessing
from store.ratings.log import TreeHead
from store.security.signing import is_signature

router = APIRouter(prefix=witnessing.WITNESS_PATH, tags=["log"], route_class=StrictRoute)

MOST_BYTES = 1 << 16
"""Maximum size of a request: 63 hashes and a note with many signatures."""

SIZE_TYPE = "text/x.tlog.size"

_SIZE, _HASH = "(0|[1-9][0-9]{0,17})", "[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="
_PATTERN = (
    rf"^old {_SIZE}\n({_HASH}\n){{0,63}}\n[!-~]+\n{_SIZE}\n{_HASH}\n([ -~]+\n)*\n(\u2014 [!-~]+ [A-Za-z0-9+/=]+\n)+$"
)
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The line `old N`, the consistency proof, an empty line, and the signed checkpoint.",
        "content": {"text/plain": {"schema": {"type": "string", "pattern": _PATTERN}}},
    }
}
_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {
        "description": "The old size is not that of the latest cosigned checkpoint, whose size is the body.",
        "content": {SIZE_TYPE: {"schema": {"type": "string"}}},
    }
}


@router.get("", response_model=WitnessView)
async def get_witness(service: ServiceDependency) -> Response:
    """Read the name and key of this witness, and the logs that it witnesses."""
    key, heads = await signing_key(service), await service.database.read(witnessing.heads)
    mine = VerifierKey(witnessing.witness_name(service.settings.public_url), COSIGNATURE, key.public_key)
    origins = dict.fromkeys(log_key.name for log_key in service.settings.witnessed_keys)
    logs = [{"origin": origin, "size": heads[origin].size if origin in heads else 0} for origin in origins]
    return json_response(WitnessView(name=mine.name, verifier_key=str(mine), logs=logs))


@router.post(
    "/add-checkpoint",
    response_class=Response,
    response_description="Cosigned: a signature line of this witness.",
    openapi_extra=_BODY,
    responses=_CONFLICT,
)
async def add_checkpoint(request: Request, service: ServiceDependency) -> Response:
    """Cosign the checkpoint of a witnessed log, if it extends the latest cosigned checkpoint."""
    path = f"{router.prefix}/add-checkpoint"
    (await service.rate_limiter.take(address_of(request), work=VISITS)).check()
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
    except OtherHead as other:
        return Response(f"{other.size}\n", 409, {"Content-Type": SIZE_TYPE})  # exactly this type, without a charset
    # signed after the head is stored: if signing fails, the log can repeat the request with this head as the old head
    key = await signing_key(service)
    mine = VerifierKey(witnessing.witness_name(service.settings.public_url), COSIGNATURE, key.public_key)
    line = await asyncio.to_thread(cosign, checkpoint.text(), mine, key.sign, time_s)
    return Response(line, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"})


def _signed_request(body: bytes, keys: Sequence[VerifierKey]) -> tuple[AddCheckpoint, Checkpoint]:
    """Parse a request, and verify that a known key of the log signed its checkpoint."""
    if len(body) > MOST_BYTES:
        raise Problem("body-too-large", f"a request for a cosignature has at most {MOST_BYTES:,} bytes")
    try:
        submission = AddCheckpoint.read(body)
        checkpoint, lines = read_note(submission.note)
        public_keys = [log_key.public_key for log_key in keys if log_key.name == checkpoint.origin]
        signed = any(is_signed_by(checkpoint, lines, key, is_signature) for key in public_keys)
    except BadCheckpoint as wrong:
        raise Problem("malformed-checkpoint", str(wrong)) from None
    if not public_keys:
        raise not_found("witnessed log", checkpoint.origin)
    if not signed:
        raise Problem("checkpoint-not-signed", f"no known key of {checkpoint.origin[:200]} signed the checkpoint")
    if submission.old > checkpoint.size:
        raise Problem(
            "malformed-checkpoint", f"the old size {submission.old} is greater than the checkpoint's {checkpoint.size}"
        )
    return submission, checkpoint
