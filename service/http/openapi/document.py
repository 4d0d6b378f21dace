"""The OpenAPI document: FastAPI's own, completed with errors, headers and links.

The details of single operations are in the table of `service.http.openapi.operations`.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from service.http.openapi.operations import PUBLIC_TAGS, operation_of
from service.http.openapi.problem_schema import ProblemDocument
from service.http.problems import MEDIA_TYPE
from service.webhooks.event_documentation import describe_notices

SUMMARY = "An independent bias-rating agency for AI services."

DESCRIPTION = """\
Assay rates an AI service from outside: it sends the service known inputs, measures the outputs, and issues a rating
letter that anyone can verify:

| | |
|---|---|
| **UCS** | unbiased, whatever its input |
| **DSBS** | follows the bias of its input |
| **BS** | biased even on unbiased input |

**In three steps.** `POST /v1/jobs` names the target and the method, and answers 202 with the job's address. `GET` that
address until the job has ended (or send `Prefer: wait=30`, or follow `/events`). `rating.href` is the address of the
rating: the letter with its probability, the reasons, the measurements behind it, and every reply.

**Conventions.** Errors are `application/problem+json` (RFC 9457); their `type` is a page that explains them, and
`errors` names the invalid fields. Lists are paged by `cursor` and `Link` (RFC 8288). `Idempotency-Key` makes a POST
safe to repeat. `ETag` and `If-None-Match` make polling cheap. A number that does not exist is `null`, with a reason.
Times are UTC.
"""

TAGS = [
    {"name": "jobs", "description": "Request a rating and follow its progress."},
    {"name": "suites", "description": "Request several ratings of one target, and read them as one profile."},
    {"name": "schedules", "description": "Repeat a rating or a suite regularly."},
    {"name": "ratings", "description": "Finished ratings. They never change, and reading them never starts work."},
    {"name": "certificates", "description": "Signed statements about ratings, and the keys and proofs to verify them."},
    {"name": "badges", "description": "The last published rating of a service, for pages and catalogs to show."},
    {"name": "compositions", "description": "Ratings of chains of services, inferred from the ratings of their parts."},
    {"name": "targets", "description": "Saved targets. Their secrets are stored encrypted and never shown."},
    {"name": "registry", "description": "All public ratings: counts, histories, and a download."},
    {"name": "log", "description": "The append-only log (a Merkle tree) of published and withdrawn ratings."},
    {"name": "uploads", "description": "Your own tables, embeddings and trials, for use in jobs."},
    {"name": "corpora", "description": "Stored sentences and pictures with their provenance, for use in jobs."},
    {"name": "specifications", "description": "Named word lists, in versions that never change."},
    {"name": "catalog", "description": "The available methods, attributes and protocols."},
    {"name": "methodology", "description": "The frozen documents that define how letters are given."},
    {"name": "replies", "description": "The right of reply: prove that you own a host, and reply to its ratings."},
    {"name": "webhooks", "description": "Your endpoints that receive notices, and the deliveries to them."},
    {"name": "keys", "description": "API keys of your tenant."},
    {"name": "service", "description": "Health, version, limits and documentation of the service."},
]

PROBLEM_REF = {"$ref": "#/components/responses/Problem"}


def describe(app: FastAPI, *, keys_required: bool) -> None:
    """Make `app` serve the completed document at ``/openapi.json``, built on first use."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(
                get_openapi(
                    title=app.title,
                    version=app.version,
                    summary=app.summary,
                    description=app.description,
                    license_info=app.license_info,
                    contact=app.contact,
                    tags=app.openapi_tags,
                    routes=app.routes,
                    servers=[{"url": "/"}],
                ),
                keys_required=keys_required,
            )
        return app.openapi_schema

    @functools.cache
    def written() -> bytes:  # cached, because it takes 25 ms
        return json.dumps(document(), separators=(",", ":")).encode()

    async def answer(_: Request) -> Response:
        return Response(written(), media_type="application/json")

    app.openapi = document  # type: ignore[method-assign]
    app.add_route("/openapi.json", answer, include_in_schema=False)


def _completed(document: dict[str, Any], *, keys_required: bool) -> dict[str, Any]:
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
    _require_tags(components["schemas"])
    describe_notices(document)
    _close_tuples(components["schemas"])
    for path in document["paths"].values():
        for method, operation in path.items():
            _complete(method, operation)
            if "security" in operation and (not keys_required or operation_of(operation["operationId"]).public):
                operation["security"] = [{}, {"ApiKey": []}]
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    details, responses = operation_of(operation["operationId"]), operation["responses"]
    success = responses[min(responses)]
    if details.media_type is not None:
        success["content"] = {
            media_type: {"schema": {"type": "string"}} for media_type in details.media_type.split(" | ")
        }
    if details.headers:
        success["headers"] = dict(details.headers)
    if details.then:
        success["links"] = {
            then: {"operationId": then, "parameters": {parameter: f"$response.body#{pointer}"}}
            for then, (parameter, pointer) in details.then.items()
        }
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    if "ETag" in details.headers and method == "get":
        responses["304"] = {"description": "Not changed since the version in If-None-Match."}
    if details.also is not None:
        status, description = details.also
        responses[status] = {"description": description, "content": success["content"]}
    if operation["operationId"] == "followJob":
        responses["204"] = {"description": "All events have been sent; no more will follow."}
        stream = success["content"]["text/event-stream"]
        # `itemSchema` is a keyword of OpenAPI 3.2; tools read the schema of a stream as that of one event
        stream["schema"] = stream.pop("itemSchema")
    responses.pop("422", None)
    responses["default"] = PROBLEM_REF
    limited = () if method == "get" or "security" not in operation else ("429",)
    for status in (*_failures(operation), *limited):
        responses[status] = PROBLEM_REF
    operation["responses"] = {status: responses[status] for status in sorted(responses)}


def _require_tags(schemas: dict[str, Any]) -> None:
    """Make the discriminator field required in each member of a union: its default cannot choose the member."""
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    for tag in [field["discriminator"] for field in fields if "discriminator" in field]:
        for member in tag["mapping"].values():
            required = schemas[member.rpartition("/")[2]].setdefault("required", [])
            if tag["propertyName"] not in required:
                required.append(tag["propertyName"])


def _close_tuples(schema: Any) -> None:
    """Add ``items`` to closed tuples: pydantic leaves it out, and linters require it."""
    if isinstance(schema, dict):
        if "prefixItems" in schema and schema.get("maxItems") == len(schema["prefixItems"]):
            schema.setdefault("items", {})
        for member in schema.values():
            _close_tuples(member)
    elif isinstance(schema, list):
        for member in schema:
            _close_tuples(member)


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter without ``null``: an optional parameter is left out, never null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _failures(operation: dict[str, Any]) -> list[str]:
    details = operation_of(operation["operationId"])
    statuses = {"500", "503", *details.fails}
    if operation["tags"][0] not in PUBLIC_TAGS:
        statuses |= {"401"} if details.public else {"401", "403"}
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", ())):
        statuses.add("404")
    if operation.get("parameters"):
        statuses.add("422")
    if "requestBody" in operation:
        statuses |= {"400", "413", "415", "422"}
    return sorted(statuses)
