"""``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header-07): the same request is executed once.

The look-up of the key, the work and usually the storage of the answer share *one* transaction: a crash leaves no
part of it, and a second request with the key waits for the first or gets its answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response

from service.http.authentication import Caller, HttpParts, parts_of
from service.http.json import Answer
from service.http.problems import Problem
from store.core.database import Connection
from store.jobs import idempotency

RETRY_AFTER_S = 1

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="A text of your choice, different for each new request. The same key with the same request gets "
        "the same answer for 24 hours, even after a broken connection.",
        examples=["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ),
]


@dataclass(frozen=True)
class Repeatable:
    """What identifies a repeated request. `scope` is tenant, method, path; the answer is stored for `kept_h` hours."""

    scope: str
    key: str | None
    payload_digest: str
    kept_h: int


async def fingerprint(request: Request, idempotency_key: IdempotencyKey = None) -> Repeatable:
    """Return what identifies a request: tenant, method, path, ``Idempotency-Key``, and a digest of the payload."""
    caller: Caller = request.scope["assay.caller"]  # two tenants may use the same key
    payload = hashlib.sha256(await request.body())
    # without a query, the digest covers only the body, so that it equals the digests of older stored keys
    if query := request.scope["query_string"]:
        payload.update(b"?" + query)
    scope = f"{caller.tenant} {request.method} {request.scope['path']}"
    return Repeatable(scope, idempotency_key, payload.hexdigest(), parts_of(request).settings.idempotency_h)


Repeat = Annotated[Repeatable, Depends(fingerprint)]

Created = TypeVar("Created")


def once(
    c: Connection,
    repeat: Repeatable,
    work: Callable[[Connection], tuple[Answer, Created]],
    is_final: Callable[[Created], bool] = lambda _: True,
) -> tuple[Answer, Created | None]:
    """Answer a request by `work` or, if it is a repetition, with the stored answer, in the transaction of `c`.

    Returns the answer, and what `work` created (``None`` for a repetition).

    If `is_final` is false for what `work` created (a job for whose end the caller waits), the answer is not stored yet.
    Repetitions are then refused with ``idempotency-in-flight`` until `store_answer` is called. A request with the same
    key and another payload is always refused, with ``idempotency-mismatch``.
    """
    if repeat.key is None:
        return work(c)
    match idempotency.begin(c, repeat.scope, repeat.key, repeat.payload_digest, kept_h=repeat.kept_h):
        case idempotency.Replay(status, body, headers):
            return Answer(status, body, {**headers, "Idempotency-Replayed": "true"}), None
        case "in-flight":
            raise Problem("idempotency-in-flight", headers={"Retry-After": str(RETRY_AFTER_S)})
        case "mismatch":
            raise Problem("idempotency-mismatch", errors=[{"header": "Idempotency-Key", "detail": "used before"}])
    answer, creation = work(c)
    if is_final(creation):
        store_answer(c, repeat, answer)
    return answer, creation


async def answer_once(service: HttpParts, repeat: Repeatable, work: Callable[[Connection], Answer]) -> Response:
    """Call `work` in a transaction and return its response; for a repeated request, return the stored response."""
    answer, _ = await service.database.write(once, repeat, lambda c: (work(c), None))
    return answer.response()


def is_known(c: Connection, repeat: Repeatable) -> bool:
    """Return whether a request with the same ``Idempotency-Key`` has been answered or is running."""
    return repeat.key is not None and idempotency.is_known(c, repeat.scope, repeat.key)


def store_answer(c: Connection, repeat: Repeatable, answer: Answer) -> None:
    """Store the answer, which repetitions of the request then get; do nothing without an ``Idempotency-Key``."""
    if repeat.key is not None:
        idempotency.complete(c, repeat.scope, repeat.key, answer.status, answer.body, dict(answer.headers))
