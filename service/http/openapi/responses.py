"""Documented responses: the ``responses`` of routes that FastAPI cannot derive from their code.

`service.http.openapi.document` adds what follows from a route's method, dependencies and parameters.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from pydantic import BaseModel

from assay.document import Json, JsonObject

Responses = dict[int | str, JsonObject]
"""Descriptions of a route's responses by HTTP status; an empty description of an error means a problem document."""

_HEADERS: Mapping[str, JsonObject] = tomllib.loads(files(__package__).joinpath("headers.toml").read_text("utf-8"))

_RETRY_AFTER, _RATE = _HEADERS["Retry-After"], _HEADERS["RateLimit"]

LINK, ETAG, LOCATION = ({name: _HEADERS[name]} for name in ("Link", "ETag", "Location"))
UNFINISHED = ETAG | {"Retry-After": _RETRY_AFTER}
ACCEPTED = LOCATION | {"Retry-After": {**_RETRY_AFTER, "required": True}, "RateLimit": _RATE, "RateLimit-Policy": _RATE}
FRESHNESS = {name: header for name, header in _HEADERS.items() if name.startswith("X-Assay-")}
"""Headers of every representation of a rating: its dates and its methodology."""

RATED = {name: {**header, "required": True} for name, header in FRESHNESS.items()}

NOT_MODIFIED = {"description": "Not changed since the version in If-None-Match."}


def returns(headers: Json, *media_types: str, status: int = 200, links: Json | None = None) -> Responses:
    """Describe a successful response: its headers, its media types unless it is JSON, and links to operations."""
    response: JsonObject = {"headers": dict(headers)} if headers else {}
    if media_types:
        response["content"] = {media_type: {"schema": {"type": "string"}} for media_type in media_types}
    return {status: response | ({"links": dict(links)} if links else {})}


def fails(*statuses: int) -> Responses:
    """Describe errors with these statuses, for a route whose dependencies and parameters do not imply them."""
    return {status: {} for status in statuses}


def file_body(description: str, *media_types: str) -> JsonObject:
    """Return the ``openapi_extra`` of a route whose request is a file."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in media_types}
    return {"requestBody": {"required": True, "description": description, "content": content}}


TAGGED = returns(ETAG)
CONFLICT = fails(409)
"""Documented error 409: the state of the resource forbids the request."""


def leads_to(parameter: str, *operations: str, pointer: str = "/id") -> JsonObject:
    """Return OpenAPI links from a response to operations, whose `parameter` is the value at `pointer` in the body."""
    parameters = {parameter: f"$response.body#{pointer}"}
    return {operation: {"operationId": operation, "parameters": parameters} for operation in operations}


def created(
    model: type[BaseModel], description: str, links: Json | None = None, *, may_exist: bool = False
) -> JsonObject:
    """Return FastAPI's arguments for a route that creates a resource (201) or, with `may_exist`, may find it (200)."""
    existing: Responses = {200: {"model": model, "description": "It existed already; the stored one is returned."}}
    return {
        "status_code": 201,
        "response_model": model,
        "response_description": description,
        "responses": returns(LOCATION | ETAG, status=201, links=links) | CONFLICT | (existing if may_exist else {}),
    }
