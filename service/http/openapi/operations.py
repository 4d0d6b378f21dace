"""What FastAPI cannot see of an operation from its code: one table, a row for each operation that needs one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.publishing.embed_schemas import FRESHNESS, RATING_OPERATIONS

Header = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """What is told of an operation beside what FastAPI derives.

    Attributes
    ----------
    headers : mapping
        Of the successful answer; those that are required are always there. With an ``ETag``, a GET may answer 304.
    fails : tuple of str
        Statuses of errors beside those that follow from its tag, its parameters and its body.
    also : (str, str) or None
        A second status of success, and what it says; the body is of the same shape.
    media_type : str or None
        Of an answer that is no JSON; several stand with `` | `` between them.
    public : bool
        Whether it answers callers without a key, also where keys are required.
    then : mapping
        What can be done next with the answer: operation, its parameter, and where the answer has the value.
    """

    headers: Mapping[str, Header] = field(default_factory=dict)
    fails: tuple[str, ...] = ()
    also: tuple[str, str] | None = None
    media_type: str | None = None
    public: bool = False
    then: Mapping[str, tuple[str, str]] = field(default_factory=dict)


PUBLIC_TAGS = frozenset({"badges", "catalog", "log", "methodology", "service"})
"""Operations of these never ask for a key."""

# ---------------------------------------------------------------------------- headers
_AGAIN: Header = {
    "description": "Seconds after which to ask again.",
    "schema": {"type": "integer", "minimum": 0},
}
_NAMED: Header = {
    "description": "Names this version; send it in If-None-Match.",
    "required": True,
    "schema": {"type": "string"},
}
_MADE: Header = {
    "description": "Address of what was made.",
    "required": True,
    "schema": {"type": "string", "format": "uri-reference"},
}
_NEXT: Header = {"description": 'The next page, as `rel="next"` (RFC 8288).', "schema": {"type": "string"}}
_RATE: Header = {
    "description": "What is left of the limit on new jobs.",
    "required": True,
    "schema": {"type": "string"},
}

ETAG = {"ETag": _NAMED}
LOCATION = {"Location": _MADE}
LINK = {"Link": _NEXT}
UNFINISHED = ETAG | {"Retry-After": _AGAIN}
ORDERED = LOCATION | {"Retry-After": {**_AGAIN, "required": True}, "RateLimit": _RATE, "RateLimit-Policy": _RATE}
RATED = {name: {**header, "required": True} for name, header in FRESHNESS.items()}

# ---------------------------------------------------------------------------- what several share
CONFLICT, LIMITED = ("409",), ("409", "429")
"""A state of things forbids it; or the same is asked at the same moment, or too much at once."""

ENDED = ("200", "It has ended.")
KNOWN = ("200", "It was there already; what is kept is shown.")
CSV, JSONL, MARKDOWN = "text/csv", "application/jsonl", "text/markdown"


def _then(parameter: str, *operations: str, pointer: str = "/id") -> Mapping[str, tuple[str, str]]:
    return dict.fromkeys(operations, (parameter, pointer))


_JOB = _then("job_id", "getJob", "followJob", "cancelJob", "listObservations")

OPERATIONS: Mapping[str, Operation] = {
    # jobs
    "requestRating": Operation(ORDERED, LIMITED, then=_JOB),
    "listJobs": Operation(LINK),
    "getJob": Operation(UNFINISHED, then=_then("rating_id", "getRating", pointer="/rating/id")),
    "cancelJob": Operation(fails=CONFLICT),
    "listObservations": Operation(LINK),
    "downloadObservationsCsv": Operation(media_type=CSV),
    "downloadObservationsJsonl": Operation(media_type=JSONL),
    "listJobDeliveries": Operation(LINK),
    "redeliverToCallback": Operation(LOCATION, CONFLICT),
    # suites
    "requestSuite": Operation(ORDERED, LIMITED, then=_then("suite_id", "getSuite", "cancelSuite")),
    "listSuites": Operation(LINK),
    "getSuite": Operation(UNFINISHED),
    "cancelSuite": Operation(UNFINISHED, CONFLICT),
    # schedules
    "createSchedule": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then("schedule_id", "getSchedule", "changeSchedule", "runSchedule", "removeSchedule"),
    ),
    "listSchedules": Operation(LINK),
    "getSchedule": Operation(ETAG),
    "changeSchedule": Operation(ETAG),
    "runSchedule": Operation(ORDERED, LIMITED),
    # ratings, and everything that is derived of one
    **dict.fromkeys(RATING_OPERATIONS, Operation(public=True)),
    "listRatings": Operation(LINK, public=True),
    "latestRating": Operation(ETAG | RATED, ("404", "409"), public=True),
    "getRating": Operation(ETAG | RATED, public=True),
    "getReportHtml": Operation(ETAG | RATED, media_type="text/html", public=True),
    "getReportMarkdown": Operation(ETAG | RATED, media_type=MARKDOWN, public=True),
    "downloadSentencesCsv": Operation(RATED, ("404",), media_type=CSV, public=True),
    "downloadEvidenceCsv": Operation(RATED, media_type=CSV, public=True),
    "compareRatings": Operation(ETAG, public=True),
    "differRatings": Operation(ETAG, public=True),
    "listLettersByMethodology": Operation(ETAG, public=True),
    "rerateRating": Operation(ORDERED, LIMITED, ENDED, then=_JOB),
    "setVisibility": Operation(fails=CONFLICT),
    "withdrawRating": Operation(fails=CONFLICT),
    # certificates
    "getAttestation": Operation(ETAG | RATED, public=True),
    "exportRating": Operation(RATED, CONFLICT, media_type=JSONL, public=True),
    "proveObservation": Operation(ETAG | RATED, CONFLICT, public=True),
    "getJwks": Operation(ETAG, public=True),
    "rotateSigningKey": Operation(LOCATION, CONFLICT),
    # compositions
    "createComposition": Operation(LOCATION | ETAG, CONFLICT, then=_then("composition_id", "getComposition")),
    "listCompositions": Operation(LINK),
    "getComposition": Operation(ETAG, public=True),
    # targets
    "saveTarget": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then("target_id", "getTarget", "replaceTarget", "probeTarget", "removeTarget"),
    ),
    "listTargets": Operation(LINK),
    "getTarget": Operation(ETAG),
    "probeTarget": Operation(ORDERED, LIMITED, ENDED, then=_JOB),
    "targetHistory": Operation(LINK),
    # registry and log
    "letterDistribution": Operation(public=True),
    "addressHistory": Operation(LINK, public=True),
    "downloadRegistry": Operation(ETAG, media_type=JSONL, public=True),
    "getLogHead": Operation(ETAG),
    "proveInclusion": Operation(ETAG),
    "proveConsistency": Operation(ETAG),
    # uploads
    "sendUpload": Operation(LOCATION | ETAG, also=KNOWN, then=_then("upload_id", "getUpload", "removeUpload")),
    "listUploads": Operation(LINK),
    "getUpload": Operation(ETAG),
    "removeUpload": Operation(fails=CONFLICT),
    # specifications
    "createSpecification": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then(
            "specification_name",
            "getSpecification",
            "addSpecificationVersion",
            "removeSpecification",
            pointer="/name",
        ),
    ),
    "listSpecifications": Operation(LINK),
    "getSpecification": Operation(ETAG),
    "addSpecificationVersion": Operation(LOCATION | ETAG, also=KNOWN),
    "getSpecificationVersion": Operation(ETAG),
    # corpora
    "createCorpus": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then(
            "corpus_id",
            "getCorpus",
            "changeCorpus",
            "addCorpusItems",
            "listCorpusItems",
            "writeSentences",
            "exportCorpus",
            "removeCorpus",
        ),
    ),
    "listCorpora": Operation(LINK),
    "getCorpus": Operation(ETAG),
    "changeCorpus": Operation(ETAG, ("412",)),
    "listCorpusItems": Operation(LINK),
    "addCorpusItems": Operation(ETAG, CONFLICT, also=KNOWN),
    "addCorpusPicture": Operation(ETAG, ("400", "409", "413", "415"), also=KNOWN),
    "changeCorpusItem": Operation(fails=CONFLICT),
    "getCorpusPicture": Operation(ETAG, media_type="image/png | image/jpeg | image/webp | image/gif"),
    "exportCorpus": Operation(media_type=f"{CSV} | {JSONL}"),
    "writeSentences": Operation(ORDERED, LIMITED, ENDED, then=_JOB),
    # methodology
    "listMethodologies": Operation(ETAG),
    "getMethodology": Operation(ETAG),
    "getMethodologyText": Operation(ETAG, media_type=MARKDOWN),
    # replies
    "addDomain": Operation(
        LOCATION | ETAG, CONFLICT, KNOWN, then=_then("domain_id", "getDomain", "verifyDomain", "removeDomain")
    ),
    "listDomains": Operation(LINK),
    "getDomain": Operation(ETAG),
    "verifyDomain": Operation(ORDERED, LIMITED, ENDED, then=_JOB),
    "getReply": Operation(ETAG, public=True),
    "putReply": Operation(ETAG, also=("201", "Written; there was none before.")),
    # webhooks
    "createWebhook": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then(
            "webhook_id",
            "getWebhook",
            "replaceWebhook",
            "pingWebhook",
            "rotateWebhook",
            "enableWebhook",
            "removeWebhook",
        ),
    ),
    "listWebhooks": Operation(LINK),
    "getWebhook": Operation(ETAG),
    "rotateWebhook": Operation(ETAG, CONFLICT),
    "pingWebhook": Operation(LOCATION, CONFLICT),
    "listDeliveries": Operation(LINK),
    "redeliver": Operation(LOCATION, CONFLICT),
    # keys, and the service itself
    "createKey": Operation(LOCATION, then=_then("key_id", "revokeKey")),
    "listKeys": Operation(LINK),
    "getLimits": Operation(fails=("401", "403")),
    "metrics": Operation(media_type="text/plain"),
}
"""By operationId; an operation that is not named has nothing to add."""

_NOTHING = Operation()


def told_of(operation_id: str) -> Operation:
    """Look an operation up."""
    return OPERATIONS.get(operation_id, _NOTHING)
