"""``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header-07): the same request is executed once.

A repetition gets the stored answer and is not validated. Key, work and answer are stored by *one* transaction: a crash
leaves no part of it, and a second request with the key waits for the first.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response
from starlette.exceptions import HTTPException

from service.http.authentication import HttpParts, PartsDependency, parts_of
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


class Replayed(HTTPException):
    """Raised to answer a repeated request with its stored `response`."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


async def fingerprint(request: Request, idempotency_key: IdempotencyKey = None) -> Repeatable:
    """Return the identity of an identified caller's request: tenant, route, ``Idempotency-Key`` and payload digest."""
    payload = hashlib.sha256(await request.body())
    # without a query, the digest covers only the body, so that it equals the digests of older stored keys
    if query := request.scope["query_string"]:
        payload.update(b"?" + query)
    scope = f"{request.scope['assay.caller'].tenant} {request.method} {request.scope['path']}"
    return Repeatable(scope, idempotency_key, payload.hexdigest(), parts_of(request).settings.idempotency_h)


Fingerprint = Annotated[Repeatable, Depends(fingerprint)]


async def repeatable(request: Request, parts: PartsDependency, repeat: Fingerprint) -> Repeatable:
    """Return the identity of a new request; a repetition is answered here, before anything else is validated."""
    if repeat.key is not None and (answer := await parts.database.read(_stored_answer, repeat, idempotency.find)):
        allowance = await parts.rate_limiter.remainder(request.scope["assay.caller"].tenant)
        raise Replayed(answer.response(**allowance.headers))
    return repeat


Repeat = Annotated[Repeatable, Depends(repeatable)]

Created = TypeVar("Created")


def once(
    c: Connection,
    repeat: Repeatable,
    work: Callable[[Connection], tuple[Answer, Created]],
    is_final: Callable[[Created], bool] = lambda _: True,
) -> tuple[Answer, Created | None]:
    """Answer a request by `work` or, if it is a repetition, with the stored answer, in the transaction of `c`.

    Returns the answer, and what `work` created (``None`` for a repetition).

    If `is_final` returns false for what `work` created (a caller waits for a job's end), a repetition is refused
    with ``idempotency-in-flight`` until `store_answer` is called, or the caller counts as lost. A request with the same
    key and another payload is always refused, with ``idempotency-mismatch``.
    """
    if repeat.key is not None and (replay := _stored_answer(c, repeat, idempotency.begin)):
        return replay, None
    answer, creation = work(c)
    store_answer(c, repeat, answer, is_final=is_final(creation))
    return answer, creation


def _stored_answer(c: Connection, repeat: Repeatable, look_up: Callable[..., object]) -> Answer | None:
    """Return the stored answer of a repeated request, ``None`` for a new one; raise `Problem` for any other."""
    match look_up(c, repeat.scope, repeat.key, repeat.payload_digest, repeat.kept_h):
        case idempotency.Replay(status, body, headers):
            return Answer(status, body, {**headers, "Idempotency-Replayed": "true"})
        case "in-flight":
            raise Problem("idempotency-in-flight", headers={"Retry-After": str(RETRY_AFTER_S)})
        case "mismatch":
            raise Problem("idempotency-mismatch", errors=[{"header": "Idempotency-Key", "detail": "used before"}])
    return None


async def answer_once(service: HttpParts, repeat: Repeatable, work: Callable[[Connection], Answer]) -> Response:
    """Call `work` in a transaction and return its response; for a repeated request, return the stored response."""
    answer, _ = await service.database.write(once, repeat, lambda c: (work(c), None))
    return answer.response()


def store_answer(c: Connection, repeat: Repeatable, answer: Answer, *, is_final: bool = True) -> None:
    """Store the answer, which repetitions of the request then get; do nothing without an ``Idempotency-Key``."""
    if repeat.key is not None:
        status = answer.status if is_final else None
        idempotency.complete(c, repeat.scope, repeat.key, status, answer.body, answer.headers)
