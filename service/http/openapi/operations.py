"""Table of the details of operations that FastAPI cannot derive from the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.publishing.embed_schemas import FRESHNESS, RATING_OPERATIONS

Header = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """Details of an operation that FastAPI cannot derive.

    Attributes
    ----------
    headers : mapping
        Headers of the successful answer. With an ``ETag``, a GET may answer 304.
    fails : tuple of str
        Error statuses beyond those that follow from its tag, parameters and body.
    also : (str, str) or None
        A second successful status with its description; the body has the same schema.
    media_type : str or None
        Media type of an answer that is not JSON; several are separated by `` | ``.
    public : bool
        Whether callers without a key are answered even if keys are required.
    then : mapping
        Links from the answer: operation, its parameter, and the JSON pointer of the value in the answer.
    """

    headers: Mapping[str, Header] = field(default_factory=dict)
    fails: tuple[str, ...] = ()
    also: tuple[str, str] | None = None
    media_type: str | None = None
    public: bool = False
    then: Mapping[str, tuple[str, str]] = field(default_factory=dict)


PUBLIC_TAGS = frozenset({"badges", "catalog", "log", "methodology", "service"})
"""Tags whose operations never require a key."""

# ---------------------------------------------------------------------------- headers
_RETRY_AFTER: Header = {
    "description": "Seconds after which to request again.",
    "schema": {"type": "integer", "minimum": 0},
}
_ETAG: Header = {
    "description": "Identifies this version; send it in If-None-Match.",
    "required": True,
    "schema": {"type": "string"},
}
_LOCATION: Header = {
    "description": "Address of the new resource.",
    "required": True,
    "schema": {"type": "string", "format": "uri-reference"},
}
_LINK: Header = {"description": 'The next page, as `rel="next"` (RFC 8288).', "schema": {"type": "string"}}
_RATE: Header = {"description": "Rest of the limit on new jobs.", "required": True, "schema": {"type": "string"}}

ETAG = {"ETag": _ETAG}
LOCATION = {"Location": _LOCATION}
LINK = {"Link": _LINK}
UNFINISHED = ETAG | {"Retry-After": _RETRY_AFTER}
ACCEPTED = LOCATION | {"Retry-After": {**_RETRY_AFTER, "required": True}, "RateLimit": _RATE, "RateLimit-Policy": _RATE}
RATED = {name: {**header, "required": True} for name, header in FRESHNESS.items()}

# ---------------------------------------------------------------------------- shared values
CONFLICT, LIMITED = ("409",), ("409", "429")
"""409: the state of the resource forbids it, or the same request is running. 429: the rate limit is reached."""

ENDED = ("200", "The job has ended.")
KNOWN = ("200", "It existed already; the stored one is returned.")
CSV, JSONL, MARKDOWN = "text/csv", "application/jsonl", "text/markdown"


def _then(parameter: str, *operations: str, pointer: str = "/id") -> Mapping[str, tuple[str, str]]:
    return dict.fromkeys(operations, (parameter, pointer))


_JOB = _then("job_id", "getJob", "followJob", "cancelJob", "listObservations")

OPERATIONS: Mapping[str, Operation] = {
    # jobs
    "requestRating": Operation(ACCEPTED, LIMITED, then=_JOB),
    "listJobs": Operation(LINK),
    "getJob": Operation(UNFINISHED, then=_then("rating_id", "getRating", pointer="/rating/id")),
    "cancelJob": Operation(fails=CONFLICT),
    "listObservations": Operation(LINK),
    "downloadObservationsCsv": Operation(media_type=CSV),
    "downloadObservationsJsonl": Operation(media_type=JSONL),
    "listJobDeliveries": Operation(LINK),
    "redeliverToCallback": Operation(LOCATION, CONFLICT),
    # suites
    "requestSuite": Operation(ACCEPTED, LIMITED, then=_then("suite_id", "getSuite", "cancelSuite")),
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
    "changeSchedule": Operation(ETAG, CONFLICT),
    "runSchedule": Operation(ACCEPTED, LIMITED),
    # ratings and everything derived from them
    **dict.fromkeys(RATING_OPERATIONS, Operation(public=True)),
    "listRatings": Operation(LINK, public=True),
    "latestRating": Operation(ETAG | RATED, ("404", "409"), public=True),
    "getRating": Operation(ETAG | RATED, public=True),
    "getReportHtml": Operation(ETAG | RATED, media_type="text/html", public=True),
    "getReportMarkdown": Operation(ETAG | RATED, media_type=MARKDOWN, public=True),
    "downloadSentencesCsv": Operation(RATED, ("404",), media_type=CSV, public=True),
    "getThumbnail": Operation(ETAG, media_type="image/webp", public=True),
    "listEvidence": Operation(LINK | RATED, public=True),
    "downloadEvidenceCsv": Operation(RATED, media_type=CSV, public=True),
    "downloadEvidenceParquet": Operation(RATED, media_type="application/vnd.apache.parquet", public=True),
    "compareRatings": Operation(ETAG, public=True),
    "differRatings": Operation(ETAG, public=True),
    "listLettersByMethodology": Operation(ETAG, public=True),
    "rerateRating": Operation(ACCEPTED, LIMITED, ENDED, then=_JOB),
    "setVisibility": Operation(fails=CONFLICT),
    "withdrawRating": Operation(fails=CONFLICT),
    # certificates
    "getAttestation": Operation(ETAG | RATED, public=True),
    "exportRating": Operation(RATED, CONFLICT, media_type=JSONL, public=True),
    "proveObservation": Operation(ETAG | RATED, CONFLICT, public=True),
    "getJwks": Operation(ETAG, public=True),
    "rotateSigningKey": Operation(LOCATION, CONFLICT),
    # compositions
    "createComposition": Operation(
        LOCATION | ETAG, CONFLICT, then=_then("composition_id", "getComposition", "removeComposition")
    ),
    "listCompositions": Operation(LINK),
    "getComposition": Operation(ETAG, public=True),
    "getCompositionReportHtml": Operation(ETAG, media_type="text/html", public=True),
    "getCompositionReportMarkdown": Operation(ETAG, media_type=MARKDOWN, public=True),
    # targets
    "saveTarget": Operation(
        LOCATION | ETAG, CONFLICT, then=_then("target_id", "getTarget", "replaceTarget", "probeTarget", "removeTarget")
    ),
    "listTargets": Operation(LINK),
    "replaceTarget": Operation(fails=CONFLICT),
    "getTarget": Operation(ETAG),
    "probeDescribedTarget": Operation(ACCEPTED, LIMITED, ENDED, then=_JOB),
    "probeTarget": Operation(ACCEPTED, LIMITED, ENDED, then=_JOB),
    "targetHistory": Operation(LINK),
    # registry and log
    "letterDistribution": Operation(public=True),
    "addressHistory": Operation(LINK, public=True),
    "downloadRegistry": Operation(ETAG, media_type=JSONL, public=True),
    "getLogHead": Operation(ETAG),
    "getCheckpoint": Operation(ETAG, media_type="text/plain"),
    "addCheckpoint": Operation(fails=("403", "404", "429"), media_type="text/plain"),
    "proveInclusion": Operation(ETAG),
    "proveConsistency": Operation(ETAG),
    # uploads
    "sendUpload": Operation(
        LOCATION | ETAG, CONFLICT, also=KNOWN, then=_then("upload_id", "getUpload", "removeUpload")
    ),
    "listUploads": Operation(LINK),
    "getUpload": Operation(ETAG),
    "removeUpload": Operation(fails=CONFLICT),
    # specifications
    "createSpecification": Operation(
        LOCATION | ETAG,
        CONFLICT,
        then=_then(
            "specification_name", "getSpecification", "addSpecificationVersion", "removeSpecification", pointer="/name"
        ),
    ),
    "listSpecifications": Operation(LINK),
    "getSpecification": Operation(ETAG),
    "addSpecificationVersion": Operation(LOCATION | ETAG, CONFLICT, also=KNOWN),
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
    "changeCorpus": Operation(ETAG, ("409", "412")),
    "listCorpusItems": Operation(LINK),
    "addCorpusItems": Operation(ETAG, CONFLICT, also=KNOWN),
    "addCorpusPicture": Operation(ETAG, ("400", "409", "413", "415"), also=KNOWN),
    "changeCorpusItem": Operation(ETAG, ("409", "412")),
    "getCorpusItem": Operation(ETAG),
    "changeCorpusItems": Operation(ETAG, ("409", "412")),
    "importCorpusItems": Operation(ETAG, ("409", "413", "415"), also=KNOWN),
    "getCorpusPicture": Operation(ETAG, media_type="image/png | image/jpeg | image/webp | image/gif"),
    "exportCorpus": Operation(media_type=f"{CSV} | {JSONL}"),
    "writeSentences": Operation(ACCEPTED, LIMITED, ENDED, then=_JOB),
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
    "verifyDomain": Operation(ACCEPTED, LIMITED, ENDED, then=_JOB),
    "getReply": Operation(ETAG, public=True),
    "putReply": Operation(ETAG, also=("201", "The first reply was stored.")),
    "answerReply": Operation(ETAG),
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
    "replaceWebhook": Operation(fails=CONFLICT),
    "rotateWebhook": Operation(ETAG, CONFLICT),
    "pingWebhook": Operation(LOCATION, CONFLICT),
    "listDeliveries": Operation(LINK),
    "redeliver": Operation(LOCATION, CONFLICT),
    # keys and the service itself
    "createKey": Operation(LOCATION, then=_then("key_id", "revokeKey")),
    "listKeys": Operation(LINK),
    "getLimits": Operation(fails=("401", "403")),
    "metrics": Operation(fails=("401", "403"), media_type="text/plain", public=True),
}
"""Details by operationId; most operations need none."""

_NOTHING = Operation()


def operation_of(operation_id: str) -> Operation:
    """Return the details of an operation."""
    return OPERATIONS.get(operation_id, _NOTHING)
