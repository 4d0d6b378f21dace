"""Everything that can go wrong over HTTP, as one table, and how it is told (RFC 9457).

Every error leaves as ``application/problem+json`` with an absolute ``type`` that is also a page
(`service.routes.problems`). The text of an exception never leaves: only what is written here, or
the message of a `SpecificationError`, which is written for the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import Request
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemKind:
    """One kind of problem: its address is ``/problems/{code}``.

    `meaning` says what happened and `remedy` what would do; both are shown on its page.
    """

    code: str
    status: int
    title: str
    meaning: str
    remedy: str


_REQUESTS = (
    ProblemKind(
        "malformed-body",
        400,
        "The body cannot be read",
        "The body is not UTF-8 text, or it is not JSON.",
        "Send one JSON object, encoded in UTF-8.",
    ),
    ProblemKind(
        "unsupported-media-type",
        415,
        "The body is not declared as JSON",
        "The Content-Type header names something other than application/json.",
        "Send Content-Type: application/json.",
    ),
    ProblemKind(
        "body-too-large",
        413,
        "The body is too large",
        "The body is longer than the limit shown by /v1/limits.",
        "Send less; one job per request.",
    ),
    ProblemKind(
        "invalid-request",
        422,
        "The request does not have the right shape",
        "A field is missing, unknown, of the wrong type or out of its range. `errors` names each one: "
        "a JSON pointer into the body, or the name of a query parameter or header.",
        "Mend the named fields; the schema is at /openapi.json.",
    ),
    ProblemKind(
        "bad-specification",
        422,
        "The request cannot be carried out as it is written",
        "Each field is well-formed, but together they make no sense, or a name is not known.",
        "Mend the field that `errors` points to; its detail says what would do.",
    ),
    ProblemKind(
        "bad-cursor",
        422,
        "The cursor does not belong to this list",
        "A cursor is only good for the list and the filters it was given out for.",
        "Leave `cursor` out to begin again, or follow the Link header unchanged.",
    ),
    ProblemKind(
        "not-found",
        404,
        "There is no such thing here",
        "Nothing has this address, or it is not yours to see.",
        "Check the address; use the key of the tenant that owns it.",
    ),
    ProblemKind(
        "no-rating",
        404,
        "This target has not been rated",
        "No rating that you may see matches the question.",
        "Ask for one with POST /v1/jobs.",
    ),
    ProblemKind(
        "method-not-allowed",
        405,
        "This address does not answer that method",
        "The Allow header lists the methods it does answer.",
        "Use one of them.",
    ),
    ProblemKind(
        "ambiguous-rating",
        409,
        "More than one rating answers the question",
        "Several methods or attributes were rated; `candidates` lists the newest rating of each.",
        "Add `method` and `attribute` to the query.",
    ),
    ProblemKind(
        "already-finished",
        409,
        "The job has already ended",
        "A job that succeeded, failed or was cancelled cannot be cancelled.",
        "Nothing needs to be done.",
    ),
    ProblemKind(
        "unsupported-upload-type",
        415,
        "The file is not declared as something that is read",
        "The Content-Type header names something that an upload of this purpose cannot be.",
        "Send one of the types that the Accept header lists.",
    ),
    ProblemKind(
        "unreadable-upload",
        422,
        "The file is not what it says",
        "The file is damaged, is of another format than its Content-Type says, or holds what no job could use or "
        "what could harm who opens it. `errors` names the line and the column.",
        "Mend the file where `errors` points to and send it again.",
    ),
    ProblemKind(
        "not-installed",
        422,
        "This service cannot read the format",
        "Reading it needs an optional package that this service was installed without.",
        "Send the table as CSV, or have the operator install the named extra.",
    ),
    ProblemKind(
        "upload-in-use",
        409,
        "A job still uses the upload",
        "A job that is queued or running needs it; `job` names one.",
        "Wait for the job's end, or cancel it.",
    ),
    ProblemKind(
        "no-test-result",
        404,
        "The rating is no test result",
        "No letter was declared, and what could not be told has neither passed nor failed.",
        "Read the statement about the rating itself: leave `predicate` out.",
    ),
    ProblemKind(
        "evidence-out-of-order",
        409,
        "The evidence cannot be put in its order",
        "The recorded observations are not there any more, or are not those this version's experiment would ask for.",
        "Download them as they were recorded with /observations.csv; the rating itself is not in doubt.",
    ),
    ProblemKind(
        "schedule-unfit",
        409,
        "The schedule cannot be run as it is",
        "Its target has been removed, or is of another kind now.",
        "Give the schedule another request with PATCH /v1/schedules/{id}, or remove it.",
    ),
    ProblemKind(
        "name-taken",
        409,
        "The name is taken",
        "A specification of this name is there already, yours or a shipped one.",
        "Add a version to yours with POST /v1/specifications/{name}/versions, or take another name.",
    ),
    ProblemKind(
        "precondition-failed",
        412,
        "It has changed since you read it",
        "The If-Match header names a version that is not the one that is kept now.",
        "Read it again and send the change with its new ETag, or leave If-Match out.",
    ),
    ProblemKind(
        "corpus-full",
        409,
        "The corpus holds as much as it may",
        "A corpus holds as many sentences or pictures as a rating is asked with at most. Nothing was added.",
        "Begin another corpus, or remove what is not needed.",
    ),
    ProblemKind(
        "item-taken",
        409,
        "The corpus has this sentence already",
        "Another item of the corpus, `item`, has the text that this one was to have.",
        "Remove one of the two.",
    ),
    ProblemKind(
        "beyond-the-log",
        422,
        "The log has not come that far",
        "The entry or the tree that is asked for is beyond the end of the transparency log.",
        "Ask for less; GET /v1/log tells how long the log is.",
    ),
    ProblemKind(
        "published-for-good",
        409,
        "A public rating cannot be hidden again",
        "The rating is public, and others have relied on it.",
        "Withdraw it with POST /v1/ratings/{id}/withdraw and say why.",
    ),
    ProblemKind(
        "already-withdrawn",
        409,
        "The rating was withdrawn",
        "A withdrawn rating is neither published nor withdrawn once more.",
        "Ask for a new rating with POST /v1/jobs.",
    ),
    ProblemKind(
        "webhook-disabled",
        409,
        "The endpoint is disabled",
        "It answered 410, or nothing but failures for five days, so nothing is sent to it.",
        "Mend it and call POST /v1/webhooks/{id}/enable.",
    ),
    ProblemKind(
        "too-many-webhooks",
        409,
        "As many endpoints are kept as a tenant may have",
        "Each notice is sent to every endpoint, so their number is limited.",
        "Remove one that is not needed, or have one endpoint serve several purposes.",
    ),
    ProblemKind(
        "idempotency-in-flight",
        409,
        "The first request with this Idempotency-Key is still being answered",
        "Another request with the same key has not ended yet.",
        "Wait as long as Retry-After says and send the same request again.",
    ),
    ProblemKind(
        "idempotency-mismatch",
        422,
        "This Idempotency-Key was used for another request",
        "A key stands for one request: the same method, address and body.",
        "Use a new key for a new request.",
    ),
)
_ACCESS = (
    ProblemKind(
        "key-missing",
        401,
        "An API key is needed",
        "This service asks for a key and the request carries none.",
        "Send Authorization: Bearer <key>.",
    ),
    ProblemKind(
        "key-invalid",
        401,
        "The API key is not valid",
        "The key is garbled, unknown, expired or revoked.",
        "Use another key, or have one made with POST /v1/keys.",
    ),
    ProblemKind(
        "scope-missing",
        403,
        "The API key does not allow this",
        "The key is valid but lacks the scope that `scope` names.",
        "Use a key that has it.",
    ),
    ProblemKind(
        "not-the-owner",
        403,
        "Only the owner of the rated service may reply",
        "You have not shown within the last days that the rated host, `host`, is yours, or another has after you.",
        "Send the host to POST /v1/domains, put the token where the answer says, and verify it.",
    ),
    ProblemKind(
        "rate-limited",
        429,
        "Too many new jobs in a short time",
        "New work is limited per key. Reading, following and repeating a running request are not.",
        "Wait as long as Retry-After says. The RateLimit header shows what is left.",
    ),
    ProblemKind(
        "too-many-jobs",
        429,
        "Too many jobs at once",
        "As many jobs as /v1/limits allows are queued or running.",
        "Wait for one to end, or cancel one.",
    ),
    ProblemKind(
        "cooling-down",
        429,
        "The target rests after a job",
        "The operator lets a target rest after each job. Only new work is limited: earlier ratings, running jobs and "
        "the same request repeated are not.",
        "Wait as long as Retry-After says, or accept an earlier rating with max_age_s.",
    ),
)
_SERVER = (
    ProblemKind(
        "store-unavailable",
        503,
        "The database cannot be reached",
        "It is down, full, locked or overloaded. Nothing was half written.",
        "Send the same request again after Retry-After; with an Idempotency-Key this is always safe.",
    ),
    ProblemKind(
        "not-ready",
        503,
        "The service is not ready",
        "The database is out of reach or its schema is not the one this version needs.",
        "Wait, or run `assay migrate`.",
    ),
    ProblemKind(
        "signing-key-lost",
        503,
        "The agency's signing key cannot be opened",
        "It was sealed with a key that this service no longer has. What was signed before still holds.",
        "The operator names the older key in ASSAY_SECRET_KEY_OLDER, or makes a new signing key.",
    ),
    ProblemKind(
        "internal-error",
        500,
        "Something broke on our side",
        "The failure was logged under the request id shown here.",
        "Send the request again; if it breaks again, report the request id.",
    ),
    ProblemKind(
        "http-error",
        400,
        "The request cannot be served",
        "The server refused the request before any resource saw it.",
        "Check the request line and headers.",
    ),
)
_JOBS = (
    ProblemKind(
        "worker_lost",
        500,
        "The job's workers were lost again and again",
        "Five attempts in a row ended without a single new reply being recorded.",
        "Look at the worker's log; ask again.",
    ),
    ProblemKind(
        "target_unfit",
        422,
        "The target cannot be rated",
        "The first questions showed that its answers cannot be measured: it loses, reorders or truncates texts, "
        "does not serve what the experiment asks for, or answers in another shape than its protocol's.",
        "Mend what `detail` names; POST /v1/targets/{id}/probe shows what was found.",
    ),
    ProblemKind(
        "target_refused",
        502,
        "The target refused",
        "It answered that the secret is wrong, the quota is used up, or the address is not allowed.",
        "Check the target's secret, quota and address.",
    ),
    ProblemKind(
        "target_unavailable",
        502,
        "The target is unavailable",
        "Too many calls failed until the job's deadline. The recorded replies are kept.",
        "See the observations for the failures; ask again when the target is well.",
    ),
    ProblemKind(
        "deadline_exceeded",
        504,
        "The job ran out of time",
        "The deadline given with the request passed. The recorded replies are kept.",
        "Ask again with a larger deadline_s, or for fewer texts.",
    ),
    ProblemKind(
        "evidence_unfit",
        422,
        "The recorded evidence does not allow it",
        "The observations are not those that the rating sealed, or the version asks what was not asked.",
        "Ask for a rating anew; `detail` names what is missing or which digests differ.",
    ),
    ProblemKind(
        "secret_lost",
        409,
        "The target's secret cannot be opened",
        "It was sealed with a key that this service no longer has, or for another row.",
        "Store the target's secret again.",
    ),
)

KINDS: Mapping[str, ProblemKind] = {kind.code: kind for kind in (*_REQUESTS, *_ACCESS, *_SERVER, *_JOBS)}
"""Every kind of problem by its code: requests first, then access, the service, and failed jobs."""


class Problem(HTTPException):
    """An error as the caller shall see it.

    Parameters
    ----------
    code : str
        One of `KINDS`.
    detail : str
        What was wrong with this request, what was seen and what would do.
    errors : sequence of mapping
        The places to mend: ``{"pointer" | "parameter" | "header": …, "detail": …}``.
    headers : mapping
        Headers of the response, such as ``Retry-After``.
    **more
        Extension members of the problem document.
    """

    def __init__(
        self,
        code: str,
        detail: str | None = None,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.kind = KINDS[code]
        super().__init__(self.kind.status, detail or self.kind.meaning, dict(headers or {}))
        self.errors, self.more = tuple(errors), more


def not_found(what: str, name: str) -> Problem:
    """Say that a thing does not exist, or is not the caller's to see: the two are not told apart."""
    return Problem("not-found", f"no {what} has the id {name[:80]!r}")


def kind_named(code: str) -> ProblemKind | None:
    """Look a kind of problem up; failed jobs write their codes with underscores, requests with hyphens."""
    return KINDS.get(code) or KINDS.get(code.replace("_", "-"))


def base_url(request: Request) -> str:
    """Address of this service as its callers see it, without a closing slash."""
    public: str = request.app.state.service.settings.public_url
    if public:
        return public.rstrip("/")
    scope, host = request.scope, request.headers.get("host")
    server = scope.get("server")  # a list, some say, or a tuple
    return _reached_at(scope["scheme"], host, None if server is None else tuple(server), scope.get("root_path", ""))


@lru_cache(256)
def _reached_at(scheme: str, host: str | None, server: tuple[Any, ...] | None, root_path: str) -> str:
    """Take a request's own word for where it went, as far as that is an address."""
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"scheme": scheme, "headers": headers, "server": server, "path": f"{root_path}/"}
    return str(URL(scope=scope)).rstrip("/")


def type_uri(request: Request, code: str) -> str:
    """Absolute address of a kind of problem."""
    return f"{base_url(request)}/problems/{code}"


def document(request: Request, problem: Problem) -> dict[str, Any]:
    """Write a problem down (RFC 9457, section 3)."""
    written: dict[str, Any] = {
        "type": type_uri(request, problem.kind.code),
        "title": problem.kind.title,
        "status": problem.status_code,
        "detail": problem.detail,
        "code": problem.kind.code,
        "instance": request.scope.get("path", ""),
        "request_id": request.scope.get("assay.request_id"),
    }
    if problem.errors:
        written["errors"] = [dict(error) for error in problem.errors]
    return written | problem.more


def respond(request: Request, problem: Problem) -> JSONResponse:
    """Make the response that tells a problem."""
    headers = {"Cache-Control": "no-store", **(problem.headers or {})}
    return JSONResponse(document(request, problem), problem.status_code, headers, MEDIA_TYPE)


def phrase(status: int) -> str:
    """Reason phrase of a status, for the errors a framework raises by number alone."""
    return HTTPStatus(status).phrase
