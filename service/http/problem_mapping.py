"""Exception handlers: map every exception to a problem document."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from http import HTTPStatus
from typing import Any, get_args

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.methods import every_method, method_name
from assay.methods.association.comparison import NotComparable
from assay.rating.difference import NotTheSameQuestion
from service.http.idempotency import Replayed
from service.http.json import bad_specification, field_parts, pointer_to
from service.http.problems import Problem, respond
from store.core import errors
from store.core.plain_messages import plain_message
from store.formats import NotInstalled, Unreadable

log = structlog.get_logger(__name__)

MAX_ERRORS = 50
"""Maximum number of invalid fields that a problem names."""


def register(app: FastAPI) -> None:
    """Register the exception handlers with `app`."""
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_invalid_request)
    for exception_type in PROBLEM_OF:
        app.add_exception_handler(exception_type, on_known_error)


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the HTTP methods of all routes that match `path`; the framework returns those of the first route only.

    A path without parameters, such as /v1/jobs/plan, takes precedence, as in the OpenAPI document.
    """
    routes = [(route.path, route.methods) for route in iter_route_contexts(app.routes) if route.path and route.methods]
    matches = [methods for pattern, methods in routes if pattern == path]
    if not matches:
        compiled_routes = ((compile_path(pattern), methods) for pattern, methods in routes)
        matches = [methods for (regex, _, _), methods in compiled_routes if regex.match(path)]
    allowed = set().union(*matches)
    if "GET" in allowed:
        allowed.add("HEAD")
    return sorted(allowed | {"OPTIONS"}) if allowed else []


async def on_http_error(request: Request, error: Exception) -> Response:
    """Handle a `Problem`, a repeated request, or an error of the framework, which has a status only."""
    assert isinstance(error, HTTPException)  # noqa: S101  the handler is registered for this class
    if isinstance(error, Replayed):
        return error.response
    if isinstance(error, Problem):
        return respond(request, error)
    if error.status_code < 400:
        return Response(status_code=error.status_code, headers=error.headers)
    return respond(request, _problem_for_status(request, error))


def _problem_for_status(request: Request, error: HTTPException) -> Problem:
    path = request.scope.get("path", "")
    match error.status_code:
        case 404:
            return Problem("not-found", f"nothing is served at {path[:200]}")
        case 405:
            allow = ", ".join(allowed_methods(request.app, path))
            return Problem("method-not-allowed", f"allowed: {allow}", headers={"Allow": allow})
        case 413:
            return Problem("body-too-large")
        case 400:
            return Problem("malformed-body")
    problem = Problem("http-error", HTTPStatus(error.status_code).phrase, headers=error.headers)
    problem.status_code = error.status_code
    return problem


async def on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    """Handle a request that does not fit the schema; name every invalid field."""
    assert isinstance(error, RequestValidationError)  # noqa: S101  the handler is registered for this class
    all_errors = error.errors()
    named_errors = _independent_errors(all_errors[:MAX_ERRORS])
    located_errors = []
    for fault in named_errors:
        known_fields = _known_fields(request, fault["loc"], error.body)
        located_errors.append(_place_of_error(fault, error.body) | {"detail": plain_message(fault, known_fields)})
    is_well_formed = all(isinstance(fault.get("ctx", {}).get("error"), SpecificationError) for fault in named_errors)
    named_count = len(located_errors)
    detail = located_errors[0]["detail"] if named_count == 1 else f"{named_count} fields are invalid; see errors"
    if (unnamed_count := len(all_errors) - MAX_ERRORS) > 0:
        counts = f"errors names the first {named_count}, and {unnamed_count:,} are not named"
        detail = f"{len(all_errors):,} fields are invalid; {counts}"
    code = "bad-specification" if is_well_formed else "invalid-request"  # well-formed: only values are refused
    return respond(request, Problem(code, detail, errors=located_errors))


def _independent_errors(errors: Sequence[Any]) -> list[Any]:
    """Leave out "too short" errors of lists that are too short only because an item was refused."""
    locations = [tuple(error["loc"]) for error in errors]

    def is_consequence(error: Any) -> bool:
        location = tuple(error["loc"])
        depth = len(location)
        has_inner_error = any(len(other) > depth and other[:depth] == location for other in locations)
        return error["type"] == "too_short" and has_inner_error

    return [error for error in errors if not is_consequence(error)]


async def on_known_error(request: Request, error: Exception) -> JSONResponse:
    """Handle an exception that `PROBLEM_OF` maps to a problem."""
    if isinstance(error, errors.SecretLost | errors.SecretMoved):
        log.error("secret not decrypted", request=request.scope["assay.request_id"], why=type(error).__name__)
    if isinstance(error, errors.SigningUnavailable):  # the cause is for the operator, not for the caller
        log.error("nothing signed", request=request.scope["assay.request_id"], why=str(error))
    make_problem = next(PROBLEM_OF[base] for base in type(error).__mro__ if base in PROBLEM_OF)
    return respond(request, make_problem(error))


def _unreadable_upload(error: Unreadable) -> Problem:
    fields_of_error = {"line": error.line, "column": error.column, "detail": str(error)}
    entry = {name: value for name, value in fields_of_error.items() if value is not None}
    return Problem("unreadable-upload", str(error), errors=[entry])


def _incomparable_rating(error: NotComparable | NotTheSameQuestion) -> Problem:
    entry = {"parameter": "with", "detail": str(error), "code": error.code}
    return Problem("bad-specification", str(error), errors=[entry])


def _problem_in_field(code: str, place_type: str, name: str, error: Exception, **facts: Any) -> Problem:
    return Problem(code, str(error), errors=[{place_type: name, "detail": str(error)}], **facts)


def _known_fields(request: Request, location: Sequence[str | int], body: object) -> Sequence[str]:
    """Return the names that are valid in place of the unknown field at `location`; empty if they are not known."""
    # ("body", "experiment", method, unknown field)
    if location[:2] == ("body", "experiment") and len(location) == 4 and isinstance(body, dict):
        name = body["experiment"].get("method")
        return [field.name for method in every_method() if method_name(method) == name for field in fields(method)]
    route: Any = request.scope.get("route")
    if location[0] == "body" and getattr(route, "body_field", None) is not None:
        return sorted(_fields_at([route.body_field.field_info.annotation], location[1:-1]))
    if location[0] != "query":
        return ()
    types_by_name = {parameter.name: parameter.field_info.annotation for parameter in route.dependant.query_params}
    # a route has one model of all its parameters, or single parameters
    return sorted(_fields_at([*types_by_name.values()], ()) or set(types_by_name))


def _fields_at(types: Sequence[Any], location: Sequence[str | int]) -> set[str]:
    """Return the fields of the models to which `location` leads from `types`; skip its union tags and indices."""
    models = list(_models(types))
    if not location:
        return {name for model in models for name in model.model_fields}
    name, *inner_location = location
    member_types = [model.model_fields[str(name)].annotation for model in models if name in model.model_fields]
    return _fields_at(member_types or models, inner_location)  # no member: `name` is a union tag or an index


def _models(types: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """Yield the models among types and their arguments, such as the members of a union."""
    for type_ in types:
        if isinstance(type_, type) and issubclass(type_, BaseModel):
            yield type_
        yield from _models(get_args(type_))


def _place_of_error(error: JsonObject, body: object) -> dict[str, str]:
    """Return the place of a validation error in the request, such as ``{"pointer": "/target/kind"}``."""
    source, *parts = error["loc"]
    if source != "body":
        return {"parameter" if source in {"query", "path"} else str(source): ".".join(str(part) for part in parts)}
    cause = error.get("ctx", {}).get("error")
    inner_parts = field_parts(cause.field) if isinstance(cause, SpecificationError) else []
    missing = str(error["type"]).startswith("missing")
    if error["type"].startswith("union_tag"):  # the field that chooses the member of a union is missing or unknown
        inner_parts = [str(error["ctx"]["discriminator"]).strip("'")]
    return {"pointer": pointer_to(*_existing_path(parts, body, missing=missing), *inner_parts)}


def _existing_path(parts: Sequence[str | int], body: Any, *, missing: bool) -> list[str | int]:
    """Return the parts of pydantic's error path that exist in the body, and the last if that field is `missing`."""
    parts_in_body: list[str | int] = []
    for index, part in enumerate(parts):
        if isinstance(body, list):
            # pydantic also reports missing items of a pair, whose index does not exist in the body
            exists = isinstance(part, int) and 0 <= part < len(body)
        else:
            exists = isinstance(body, dict) and part in body
        if exists:  # other parts are pydantic's own, such as the tag of a union's member
            body = body[part]
        if exists or (missing and index == len(parts) - 1):
            parts_in_body.append(part)
    return parts_in_body


PROBLEM_OF: Mapping[type[Exception], Callable[[Any], Problem]] = {
    SpecificationError: lambda error: bad_specification(error, ()),
    errors.StoreUnavailable: lambda error: Problem(
        "store-unavailable", headers={"Retry-After": str(error.retry_after_s)}
    ),
    errors.AlreadyFinished: lambda error: Problem(
        "already-finished", f"the job has already {error.status}", job_status=error.status
    ),
    errors.SecretLost: lambda _: Problem("secret_lost"),
    errors.SecretMoved: lambda _: Problem("secret_lost"),
    errors.SigningUnavailable: lambda error: Problem(error.code, headers={"Retry-After": str(error.retry_after_s)}),
    Unreadable: _unreadable_upload,
    NotInstalled: lambda error: Problem("not-installed", str(error), extra=error.extra),
    NotComparable: _incomparable_rating,
    NotTheSameQuestion: _incomparable_rating,
    errors.EvidenceArchived: lambda error: Problem(error.code, str(error), month=error.month, file=error.file),
    errors.UploadInUse: lambda error: Problem("upload-in-use", str(error), job=error.job_id),
    errors.QuotaExceeded: lambda error: Problem(
        error.code, str(error), used=error.used, quota=error.quota, by_kind=error.by_kind
    ),
    errors.NameTaken: lambda error: _problem_in_field("name-taken", "pointer", "/name", error),
    errors.BeyondTheLog: lambda error: _problem_in_field(error.code, "parameter", error.name, error),
    errors.RatingsRefused: lambda error: Problem(error.code, str(error), host=error.host, said_by=error.who),
    errors.NotTheOwner: lambda error: Problem("not-the-owner", str(error), host=error.host),
    errors.ItemTaken: lambda error: _problem_in_field(error.code, "pointer", "/text", error, item=error.item_id),
    **dict.fromkeys(
        (
            *(errors.NotAnExtension, errors.UploadsFull, errors.TooManyWebhooks, errors.WatchUnfit),
            *(errors.PublishedForGood, errors.HoldsPeople, errors.AlreadyWithdrawn, errors.CorpusFull),
        ),
        lambda error: Problem(error.code, str(error)),
    ),
}
"""By type of exception that `assay` or `store` raises for a caller: function that returns the problem for it."""
