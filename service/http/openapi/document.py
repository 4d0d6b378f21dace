"""The OpenAPI document: FastAPI's own, completed with errors, headers and links.

Facts about single operations are in the ``responses`` of their routes (`service.http.openapi.responses`).
"""

import functools
import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.encoders import jsonable_encoder
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.requests import Request
from starlette.responses import Response

from assay.document import Json, JsonObject
from service.http.authentication import Needs
from service.http.idempotency import fingerprint
from service.http.json import calls_of
from service.http.openapi.common_schemas import ProblemDocument
from service.http.openapi.responses import LINK, NOT_MODIFIED
from service.http.problems import MEDIA_TYPE
from service.http.rows import PageQuery

EXAMPLES: dict[str, JsonObject] = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
"""Examples of request bodies by the name of the body's schema (for a union of schemas, of its first member)."""


def examples_of(body: Any) -> JsonObject | None:
    """Return the examples of a request's schema, or of a schema that it extends; ``None`` if there are none."""
    schema = next(iter(get_args(body)), body)
    return next((EXAMPLES[base.__name__] for base in schema.__mro__ if base.__name__ in EXAMPLES), None)


ABOUT: Json = tomllib.loads(files(__package__).joinpath("about.toml").read_text("utf-8"))
"""Summary, description and tags of the OpenAPI document."""

PUBLIC_TAGS = frozenset({"badges", "catalog", "log", "methodology", "service"})
"""Tags of operations that never require a key, unless they declare it."""

PROBLEM_REF = {"$ref": "#/components/responses/Problem"}


def describe(app: FastAPI, *, add_webhooks: Callable[[JsonObject], None], keys_required: bool) -> None:
    """Serve the OpenAPI document at ``/openapi.json``, built on first use; `add_webhooks` adds the webhooks to it."""

    def document() -> JsonObject:
        if app.openapi_schema is None:
            app.servers = [{"url": "/"}]
            app.openapi_schema = FastAPI.openapi(app)
            _complete_components(app.openapi_schema)
            add_webhooks(app.openapi_schema)
            _close_tuples(app.openapi_schema["components"]["schemas"])
            for route in app.routes:
                if isinstance(route, APIRoute) and route.include_in_schema:
                    for method in route.methods or ():
                        operation = app.openapi_schema["paths"][route.path_format][method.lower()]
                        _complete_operation(route, method, operation, keys_required=keys_required)
        return app.openapi_schema

    @functools.cache
    def document_bytes() -> bytes:  # cached, because it takes 25 ms
        return json.dumps(document(), separators=(",", ":")).encode()

    async def answer(_: Request) -> Response:
        return Response(document_bytes(), media_type="application/json")

    app.openapi = document  # type: ignore[method-assign]
    app.add_route("/openapi.json", answer, include_in_schema=False)


def _complete_components(document: JsonObject) -> None:
    components = document["components"]
    document["security"] = [{}]  # an operation needs no key unless it declares one
    schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(schema.pop("$defs"))
    components["schemas"]["Problem"] = schema
    components["responses"] = {
        "Problem": {
            "description": "A problem document (RFC 9457).",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    }
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    _require_discriminators(components["schemas"])


def _complete_operation(route: APIRoute, method: str, operation: JsonObject, *, keys_required: bool) -> None:
    """Add to an operation what its route's dependencies imply: headers, errors, and whether a key is needed."""
    calls = list(calls_of(route.dependant))
    key_checks = [call for call in calls if isinstance(call, SecurityBase)]
    # only `Needs` itself refuses every caller without a key
    if key_checks and not (keys_required and any(type(call) is Needs for call in key_checks)):
        operation["security"] = [{}, {"ApiKey": []}]
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    if route.body_field is not None and (examples := examples_of(route.body_field.field_info.annotation)):
        content = operation["requestBody"]["content"]
        content["application/json"]["examples"] = jsonable_encoder(examples, exclude_none=True)
    responses = operation["responses"]
    responses.pop("422", None)  # FastAPI's own description of invalid requests
    success = responses[str(route.status_code or 200)]
    queries = [parameter.field_info.annotation for parameter in route.dependant.query_params]
    if any(isinstance(query, type) and issubclass(query, PageQuery) for query in queries):
        success.setdefault("headers", {}).update(LINK)
    if method == "GET" and "ETag" in success.get("headers", {}):
        responses["304"] = NOT_MODIFIED
    if stream := success.get("content", {}).get("text/event-stream"):
        # `itemSchema` is a keyword of OpenAPI 3.2; tools read the schema of a stream as that of one event
        stream["schema"] = stream.pop("itemSchema")
    empty_errors = {status for status in responses if status >= "400" and "content" not in responses[status]}
    responses |= dict.fromkeys(empty_errors | set(_error_statuses(method, operation, calls)), PROBLEM_REF)
    operation["responses"] = {status: responses[status] for status in sorted(responses)}


def _error_statuses(method: str, operation: JsonObject, calls: Sequence[Any]) -> Iterator[str]:
    """Yield the statuses of the errors that follow from a route's dependencies, parameters and body."""
    yield from ("500", "503", "default")
    needs_key = any(isinstance(call, Needs) for call in calls)
    if needs_key or operation["tags"][0] not in PUBLIC_TAGS:
        yield from ("401", "403") if needs_key else ("401",)
    if method != "GET" and "security" in operation:  # requests that write have a rate limit
        yield "429"
    if fingerprint in calls:  # the Idempotency-Key can be in use
        yield "409"
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", ())):
        yield "404"
    if operation.get("parameters"):
        yield "422"
    if "requestBody" in operation:
        yield from ("400", "413", "415", "422")


def _require_discriminators(schemas: JsonObject) -> None:
    """Require the discriminator field in each member of a union: the field's default cannot choose the member."""
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    for discriminator in [field["discriminator"] for field in fields if "discriminator" in field]:
        for reference in discriminator["mapping"].values():
            required_fields = schemas[reference.rpartition("/")[2]].setdefault("required", [])
            if discriminator["propertyName"] not in required_fields:
                required_fields.append(discriminator["propertyName"])


def _close_tuples(schema: object) -> None:
    """Add ``items`` to the schemas of tuples of a fixed length: pydantic leaves it out, and linters require it."""
    if isinstance(schema, dict):
        if "prefixItems" in schema and schema.get("maxItems") == len(schema["prefixItems"]):
            schema.setdefault("items", {})
        for member in schema.values():
            _close_tuples(member)
    elif isinstance(schema, list):
        for member in schema:
            _close_tuples(member)


def _never_null(schema: JsonObject) -> JsonObject:
    """Return the schema of a parameter without ``null``: an optional parameter is left out, never null."""
    other_schemas = [member for member in schema.get("anyOf", ()) if member != {"type": "null"}]
    if len(other_schemas) != 1:
        return schema
    return {**other_schemas[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
