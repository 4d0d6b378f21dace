"""The OpenAPI document: what FastAPI derives, with the errors it does not know registered once."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from service.notices import describe_notices
from service.problems import MEDIA_TYPE
from service.schemas.embeds import RATING_OPERATIONS
from service.schemas.problems import ProblemDocument

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
    {"name": "specifications", "description": "Named lists of words, in versions that never change."},
    {"name": "catalog", "description": "What can be asked: methods, attributes, protocols."},
    {"name": "methodology", "description": "The frozen documents that say how letters are given."},
    {"name": "replies", "description": "The right of reply: show that a host is yours, and answer its ratings."},
    {"name": "webhooks", "description": "Endpoints of yours that are told what happens, and what was sent to them."},
    {"name": "keys", "description": "API keys of your tenant."},
    {"name": "service", "description": "The service about itself."},
]

PROBLEM_REF = {"$ref": "#/components/responses/Problem"}
PUBLIC_TAGS = frozenset({"badges", "catalog", "log", "methodology", "service"})
PUBLIC_OPERATIONS = frozenset(
    {
        *RATING_OPERATIONS,
        "listRatings",
        "latestRating",
        "getRating",
        "getComposition",
        "compareRatings",
        "differRatings",
        "addressHistory",
        "letterDistribution",
        "downloadRegistry",
        "getReportHtml",
        "getReportMarkdown",
        "downloadEvidenceCsv",
        "getAttestation",
        "exportRating",
        "proveObservation",
        "getJwks",
        "listLettersByMethodology",
        "getReply",
    }
)

MEDIA_TYPES = {
    "downloadObservationsCsv": "text/csv",
    "downloadEvidenceCsv": "text/csv",
    "downloadObservationsJsonl": "application/jsonl",
    "getReportHtml": "text/html",
    "getReportMarkdown": "text/markdown",
    "metrics": "text/plain",
    "exportRating": "application/jsonl",
    "downloadRegistry": "application/jsonl",
    "getMethodologyText": "text/markdown",
}
"""Operations that answer in no JSON, which FastAPI cannot see from their code."""

_AGAIN = {"description": "Seconds after which to ask again.", "schema": {"type": "integer", "minimum": 0}}
_ETAG = {
    "description": "Names this version; send it in If-None-Match.",
    "required": True,
    "schema": {"type": "string"},
}
_LOCATION = {
    "description": "Address of what was made.",
    "required": True,
    "schema": {"type": "string", "format": "uri-reference"},
}
_LINK = {"description": 'The next page, as `rel="next"` (RFC 8288).', "schema": {"type": "string"}}
_RATE = {"description": "What is left of the limit on new jobs.", "required": True, "schema": {"type": "string"}}
_ORDERED = {
    "Location": _LOCATION,
    "Retry-After": {**_AGAIN, "required": True},
    "RateLimit": _RATE,
    "RateLimit-Policy": _RATE,
}

HEADERS: dict[str, dict[str, Any]] = {
    "requestRating": _ORDERED,
    "requestSuite": _ORDERED,
    "getSuite": {"ETag": _ETAG, "Retry-After": _AGAIN},
    "cancelSuite": {"ETag": _ETAG, "Retry-After": _AGAIN},
    "listSuites": {"Link": _LINK},
    "createSchedule": {"Location": _LOCATION, "ETag": _ETAG},
    "getSchedule": {"ETag": _ETAG},
    "changeSchedule": {"ETag": _ETAG},
    "listSchedules": {"Link": _LINK},
    "runSchedule": _ORDERED,
    "probeTarget": _ORDERED,
    "getJob": {"ETag": _ETAG, "Retry-After": _AGAIN},
    "getRating": {"ETag": _ETAG},
    "compareRatings": {"ETag": _ETAG},
    "differRatings": {"ETag": _ETAG},
    "getLogHead": {"ETag": _ETAG},
    "proveInclusion": {"ETag": _ETAG},
    "proveConsistency": {"ETag": _ETAG},
    "downloadRegistry": {"ETag": _ETAG},
    "targetHistory": {"Link": _LINK},
    "addressHistory": {"Link": _LINK},
    "getTarget": {"ETag": _ETAG},
    "getAttestation": {"ETag": _ETAG},
    "proveObservation": {"ETag": _ETAG},
    "getJwks": {"ETag": _ETAG},
    "rotateSigningKey": {"Location": _LOCATION},
    "saveTarget": {"Location": _LOCATION, "ETag": _ETAG},
    "createKey": {"Location": _LOCATION},
    "createWebhook": {"Location": _LOCATION, "ETag": _ETAG},
    "getWebhook": {"ETag": _ETAG},
    "rotateWebhook": {"ETag": _ETAG},
    "pingWebhook": {"Location": _LOCATION},
    "redeliver": {"Location": _LOCATION},
    "listWebhooks": {"Link": _LINK},
    "listDeliveries": {"Link": _LINK},
    "sendUpload": {"Location": _LOCATION, "ETag": _ETAG},
    "getUpload": {"ETag": _ETAG},
    "createSpecification": {"Location": _LOCATION, "ETag": _ETAG},
    "addSpecificationVersion": {"Location": _LOCATION, "ETag": _ETAG},
    "getSpecification": {"ETag": _ETAG},
    "getSpecificationVersion": {"ETag": _ETAG},
    "createComposition": {"Location": _LOCATION, "ETag": _ETAG},
    "getComposition": {"ETag": _ETAG},
    "listCompositions": {"Link": _LINK},
    "listUploads": {"Link": _LINK},
    "listSpecifications": {"Link": _LINK},
    "listJobs": {"Link": _LINK},
    "listRatings": {"Link": _LINK},
    "listTargets": {"Link": _LINK},
    "listKeys": {"Link": _LINK},
    "listObservations": {"Link": _LINK},
    "listDomains": {"Link": _LINK},
    "listMethodologies": {"ETag": _ETAG},
    "getMethodology": {"ETag": _ETAG},
    "getMethodologyText": {"ETag": _ETAG},
    "listLettersByMethodology": {"ETag": _ETAG},
    "rerateRating": _ORDERED,
    "addDomain": {"Location": _LOCATION, "ETag": _ETAG},
    "getDomain": {"ETag": _ETAG},
    "verifyDomain": _ORDERED,
    "getReply": {"ETag": _ETAG},
    "putReply": {"ETag": _ETAG},
}
"""Headers of the successful answer; those that are required are always there."""

_KNOWN = ("200", "It was there already; what is kept is shown.")
ALSO: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("probeTarget", "rerateRating", "verifyDomain"), ("200", "It has ended.")),
    **dict.fromkeys(("sendUpload", "addSpecificationVersion", "addDomain"), _KNOWN),
    "putReply": ("201", "Written; there was none before."),
}
"""A second status of success that an operation may have, and what it says; the body is of the same shape."""

CONFLICTS = frozenset(
    {
        *("addDomain", "cancelJob", "latestRating", "saveTarget", "removeUpload", "createSpecification"),
        "createComposition",
        *("exportRating", "proveObservation", "rotateSigningKey"),
        *("setVisibility", "withdrawRating"),
        *("createWebhook", "rotateWebhook", "pingWebhook", "redeliver"),
    }
)
"""Operations that can meet a state of things that forbids them (409)."""

_JOB = dict.fromkeys(("getJob", "followJob", "cancelJob", "listObservations"), ("job_id", "/id"))
LINKS: dict[str, dict[str, tuple[str, str]]] = {
    "requestRating": _JOB,
    "probeTarget": _JOB,
    "getJob": {"getRating": ("rating_id", "/rating/id")},
    "saveTarget": dict.fromkeys(("getTarget", "replaceTarget", "probeTarget", "removeTarget"), ("target_id", "/id")),
    "requestSuite": dict.fromkeys(("getSuite", "cancelSuite"), ("suite_id", "/id")),
    "createSchedule": dict.fromkeys(
        ("getSchedule", "changeSchedule", "runSchedule", "removeSchedule"), ("schedule_id", "/id")
    ),
    "createKey": {"revokeKey": ("key_id", "/id")},
    "createWebhook": dict.fromkeys(
        ("getWebhook", "replaceWebhook", "pingWebhook", "rotateWebhook", "enableWebhook", "removeWebhook"),
        ("webhook_id", "/id"),
    ),
    "sendUpload": dict.fromkeys(("getUpload", "removeUpload"), ("upload_id", "/id")),
    "rerateRating": _JOB,
    "verifyDomain": _JOB,
    "addDomain": dict.fromkeys(("getDomain", "verifyDomain", "removeDomain"), ("domain_id", "/id")),
    "createComposition": {"getComposition": ("composition_id", "/id")},
    "createSpecification": dict.fromkeys(
        ("getSpecification", "addSpecificationVersion", "removeSpecification"), ("specification_name", "/name")
    ),
}
"""What can be done next with what an operation answered: operation, its parameter, where the answer has the value."""


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
            if "security" in operation and (not keys_required or operation["operationId"] in PUBLIC_OPERATIONS):
                operation["security"] = [{}, {"ApiKey": []}]
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    name, responses = operation["operationId"], operation["responses"]
    success = responses[min(responses)]
    if name in MEDIA_TYPES:
        success["content"] = {MEDIA_TYPES[name]: {"schema": {"type": "string"}}}
    if name in HEADERS:
        success["headers"] = HEADERS[name]
    if name in LINKS:
        success["links"] = {
            then: {"operationId": then, "parameters": {parameter: f"$response.body#{pointer}"}}
            for then, (parameter, pointer) in LINKS[name].items()
        }
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _never_null(parameter["schema"])
    if "ETag" in HEADERS.get(name, {}) and method == "get":
        responses["304"] = {"description": "Nothing has changed since the version in If-None-Match."}
    if name in ALSO:
        status, said = ALSO[name]
        responses[status] = {"description": said, "content": success["content"]}
    if name == "followJob":
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
    name, tag = operation["operationId"], operation["tags"][0]
    found = ["500", "503"]
    if tag not in PUBLIC_TAGS or name == "getLimits":
        found += ["401"] + ([] if name in PUBLIC_OPERATIONS else ["403"])
    if any(one["in"] == "path" for one in operation.get("parameters", ())):
        found.append("404")
    if operation.get("parameters"):
        found.append("422")
    if "requestBody" in operation:
        found += ["400", "413", "415", "422"]
    if name in {"rerateRating", "verifyDomain", "requestRating", "probeTarget"}:
        found += ["409", "429"]
    if name in CONFLICTS:
        found.append("409")
    if name in {"requestSuite", "runSchedule"}:
        found += ["409", "429"]
    if name in {"cancelSuite", "createSchedule"}:
        found.append("409")
    if name == "latestRating":
        found.append("404")
    return sorted(set(found))
