"""The OpenAPI document: what FastAPI derives, with the errors it does not know registered once.

What it cannot see of single operations is the table of `service.http.openapi.operations`.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.http.openapi.operations import PUBLIC_TAGS, told_of
from service.http.openapi.problem_schema import ProblemDocument
from service.http.problems import MEDIA_TYPE
from service.webhooks.event_documentation import describe_notices

SUMMARY = "An independent bias-rating agency for AI services."

DESCRIPTION = """\
Assay takes a service it cannot look into, shows it known material, measures what comes out, and stamps a letter
that anyone can check:

| | |
|---|---|
| **UCS** | unbiased, whatever its input |
| **DSBS** | follows whatever bias its input has |
| **BS** | biased even on unbiased input |

**In three steps.** `POST /v1/jobs` names the target and how to look at it, and answers 202 with the job's address.
`GET` that address until `status` has ended (or send `Prefer: wait=30`, or follow `/events`). `rating.href` leads to
the rating: the letter with its probability, the reasons, the measurements behind it, and every reply.

**Conventions.** Errors are `application/problem+json` (RFC 9457); their `type` is a page that explains them, and
`errors` points at what to mend. Lists are paged by `cursor` and `Link` (RFC 8288). `Idempotency-Key` makes a POST safe
to repeat. `ETag` and `If-None-Match` make polling cheap. A number that does not exist is `null`, beside a reason.
Times are UTC.
"""

TAGS = [
    {"name": "jobs", "description": "Ask for a rating and follow it."},
    {"name": "suites", "description": "Ask for several ratings of one target, and read them as one profile."},
    {"name": "schedules", "description": "Have a rating or a suite made again and again."},
    {"name": "ratings", "description": "What was found. Ratings never change, and reading never starts work."},
    {"name": "certificates", "description": "Signed statements about ratings, and what is needed to check them."},
    {"name": "badges", "description": "The last published rating of a service, for pages and catalogs to show."},
    {"name": "compositions", "description": "Services called one after the other: what is inferred of them."},
    {"name": "targets", "description": "Saved targets; their secrets go in and never come out."},
    {"name": "registry", "description": "The public ratings as a whole, and through time."},
    {"name": "log", "description": "What was published and withdrawn: a Merkle tree that can only grow."},
    {"name": "uploads", "description": "Tables, embeddings and trials of your own, for jobs to use."},
    {"name": "corpora", "description": "Kept sentences and pictures, with where they came from, to be used again."},
    {"name": "specifications", "description": "Named lists of words, in versions that never change."},
    {"name": "catalog", "description": "What can be asked: methods, attributes, protocols."},
    {"name": "methodology", "description": "The frozen documents that say how letters are given."},
    {"name": "replies", "description": "The right of reply: show that a host is yours, and answer its ratings."},
    {"name": "webhooks", "description": "Endpoints of yours that are told what happens, and what was sent to them."},
    {"name": "keys", "description": "API keys of your tenant."},
    {"name": "service", "description": "The service about itself."},
]

PROBLEM_REF = {"$ref": "#/components/responses/Problem"}


def describe(app: FastAPI, *, keys_required: bool) -> None:
    """Have `app` tell the completed document, made when it is first asked for."""

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

    app.openapi = document  # type: ignore[method-assign]


def _completed(document: dict[str, Any], *, keys_required: bool) -> dict[str, Any]:
    components = document["components"]
    document["security"] = [{}]  # nothing is asked of a caller where an operation does not say so
    schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(schema.pop("$defs"))
    components["schemas"]["Problem"] = schema
    components["responses"] = {
        "Problem": {
            "description": "A problem, told as RFC 9457 has it.",
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
            if "security" in operation and (not keys_required or told_of(operation["operationId"]).public):
                operation["security"] = [{}, {"ApiKey": []}]
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    told, responses = told_of(operation["operationId"]), operation["responses"]
    success = responses[min(responses)]
    if told.media_type is not None:
        success["content"] = {each: {"schema": {"type": "string"}} for each in told.media_type.split(" | ")}
    if told.headers:
        success["headers"] = dict(told.headers)
    if told.then:
        success["links"] = {
            then: {"operationId": then, "parameters": {parameter: f"$response.body#{pointer}"}}
            for then, (parameter, pointer) in told.then.items()
        }
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    if "ETag" in told.headers and method == "get":
        responses["304"] = {"description": "Nothing has changed since the version in If-None-Match."}
    if told.also is not None:
        status, said = told.also
        responses[status] = {"description": said, "content": success["content"]}
    if operation["operationId"] == "followJob":
        responses["204"] = {"description": "Everything has been sent; there is nothing more to come."}
        stream = success["content"]["text/event-stream"]
        stream["schema"] = stream.pop("itemSchema")  # a word of OpenAPI 3.2; tools read a stream's schema as an event's
    responses.pop("422", None)
    responses["default"] = PROBLEM_REF
    for status in _failures(operation):
        responses[status] = PROBLEM_REF
    operation["responses"] = {status: responses[status] for status in sorted(responses)}


def _require_tags(schemas: dict[str, Any]) -> None:
    """Require the field that tells the members of a union apart: its default cannot be used there."""
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    for tag in [field["discriminator"] for field in fields if "discriminator" in field]:
        for member in tag["mapping"].values():
            required = schemas[member.rpartition("/")[2]].setdefault("required", [])
            if tag["propertyName"] not in required:
                required.append(tag["propertyName"])


def _close_tuples(schema: Any) -> None:
    """Say what follows the places of a tuple, which pydantic leaves open: nothing may, and linters ask for a schema."""
    if isinstance(schema, dict):
        if "prefixItems" in schema and schema.get("maxItems") == len(schema["prefixItems"]):
            schema.setdefault("items", {})
        for each in schema.values():
            _close_tuples(each)
    elif isinstance(schema, list):
        for each in schema:
            _close_tuples(each)


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a parameter as it can be sent: one that may be left out has no way to be null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _failures(operation: dict[str, Any]) -> list[str]:
    """Statuses of the errors that an operation can answer with."""
    told = told_of(operation["operationId"])
    found = {"500", "503", *told.fails}
    if operation["tags"][0] not in PUBLIC_TAGS:
        found |= {"401"} if told.public else {"401", "403"}
    if any(one["in"] == "path" for one in operation.get("parameters", ())):
        found.add("404")
    if operation.get("parameters"):
        found.add("422")
    if "requestBody" in operation:
        found |= {"400", "413", "415", "422"}
    return sorted(found)
