"""``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header-07): the same request is done once.

The key is looked up, the work done and, as a rule, the answer kept in *one* transaction: a crash
leaves neither half of it, and a second request with the key waits for the first or sees its answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request

from service.dependencies import service_of
from service.http.authentication import Caller
from service.http.json import Answer
from service.http.problems import Problem
from store.jobs import idempotency

RETRY_AFTER_S = 1

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Any text of your own, new for each new request. The same key with the same request gets the "
        "same answer for 24 hours, whatever happened to the connection.",
        examples=["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ),
]


@dataclass(frozen=True)
class Repeatable:
    """What makes two requests the same: who sent them where, under which key, with which payload, for how long."""

    scope: str
    key: str | None
    payload_digest: str
    kept_h: int


@dataclass(frozen=True)
class Sent:
    """A request as far as it tells itself from others, before it is known who sent it."""

    where: str
    key: str | None
    payload_digest: str
    kept_h: int

    def by(self, caller: Caller) -> Repeatable:
        """Say who sent it: two callers may use the same key."""
        return Repeatable(f"{caller.key_id or caller.tenant} {self.where}", self.key, self.payload_digest, self.kept_h)


async def sent(request: Request, idempotency_key: IdempotencyKey = None) -> Sent:
    """Read the header and the payload it stands for: the body, and the query where there is one."""
    where = f"{request.method} {request.scope['path']}"
    payload = hashlib.sha256(await request.body())
    if query := request.scope["query_string"]:  # without one the digest is the body's, as keys in use know it
        payload.update(b"?" + query)
    return Sent(where, idempotency_key, payload.hexdigest(), service_of(request).settings.idempotency_h)


Repeat = Annotated[Sent, Depends(sent)]

AnAnswer = TypeVar("AnAnswer", bound=Answer)


def once(
    c: Any, repeat: Repeatable, work: Callable[[Any], AnAnswer], is_final: Callable[[AnAnswer], bool] = lambda _: True
) -> AnAnswer | Answer:
    """Do `work` unless its answer is known, inside the transaction of connection `c`.

    An answer that is not final (the caller prefers to wait for a better one) is not kept: whoever
    repeats the request meanwhile is told that it is in flight, until `keep` is called.

    Raises
    ------
    Problem
        ``idempotency-in-flight`` or ``idempotency-mismatch``.
    """
    if repeat.key is None:
        return work(c)
    match idempotency.begin(c, repeat.scope, repeat.key, repeat.payload_digest, kept_h=repeat.kept_h):
        case idempotency.Replay(status, body, headers):
            return Answer(status, body, headers, replayed=True)
        case idempotency.InFlight():
            raise Problem("idempotency-in-flight", headers={"Retry-After": str(RETRY_AFTER_S)})
        case idempotency.Mismatch():
            raise Problem("idempotency-mismatch", errors=[{"header": "Idempotency-Key", "detail": "used before"}])
    answer = work(c)
    if is_final(answer):
        keep(c, repeat, answer)
    return answer


def keep(c: Any, repeat: Repeatable, answer: Answer) -> None:
    """Keep an answer for whoever repeats the request."""
    if repeat.key is not None:
        idempotency.complete(c, repeat.scope, repeat.key, answer.status, answer.body, dict(answer.headers))
