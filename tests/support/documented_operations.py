"""Operations of the OpenAPI document, a service with one resource of every kind, and checks of refusals.

The operations are read from the document, so a new route is tested as soon as it is documented.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from service.http.openapi.document import EXAMPLES

SHORTEST, ROUND_TRIP = (EXAMPLES["RatingRequest"][name]["value"] for name in ("shortest", "complete"))


@dataclass(frozen=True)
class Operation:
    """One documented operation."""

    name: str
    method: str
    path: str
    written: dict[str, Any]

    @property
    def takes_body(self) -> bool:
        """Whether the operation takes a JSON body; `test_upload_resource` tests files."""
        return "application/json" in self.written.get("requestBody", {}).get("content", {})

    @property
    def needs_key(self) -> bool:
        """Whether every caller needs a key."""
        return self.written.get("security") == [{"ApiKey": []}]

    def parameters(self, where: str) -> list[dict[str, Any]]:
        """Return the operation's parameters in a place: ``path``, ``query`` or ``header``."""
        return [one for one in self.written.get("parameters", ()) if one["in"] == where]

    def url(self, ids: dict[str, str], **other: str) -> str:
        """Return the operation's path with `ids`, some replaced by `other`; a job's `delivery_id` is its callback's."""
        of_callback = {"delivery_id": ids["callback_delivery_id"]} if self.path.startswith("/v1/jobs/") else {}
        return self.path.format(**ids | of_callback | other)

    def documents(self, status: int) -> bool:
        """Return whether the operation documents a status."""
        return str(status) in self.written["responses"]

    @property
    def is_badge(self) -> bool:
        """Whether the operation returns an image even if there is no rating: the badge ``unrated``."""
        return "badges" in self.written["tags"]

    @property
    def is_of_webhooks(self) -> bool:
        """Whether the operation requires the scope of webhooks."""
        return "webhooks" in self.written["tags"] or self.path.endswith("/redeliver")

    @property
    def needed(self) -> dict[str, str]:
        """Return the operation's required query parameters, with valid values."""
        return {one["name"]: SHORTEST["target"]["base_url"] for one in self.parameters("query") if one["required"]}


def operations_of(document: dict[str, Any]) -> list[Operation]:
    """Return all operations of an OpenAPI document."""
    return [
        Operation(written["operationId"], method.upper(), path, written)
        for path, methods in document["paths"].items()
        for method, written in methods.items()
    ]


@dataclass(frozen=True)
class World:
    """A service with one resource of every kind, and valid bodies."""

    client: Any
    operations: list[Operation]
    document: dict[str, Any]
    ids: dict[str, str]

    BODIES: ClassVar[dict[str, Any]] = {
        "requestRating": ROUND_TRIP,
        "planRating": ROUND_TRIP,
        "probeDescribedTarget": SHORTEST["target"],
        "saveTarget": EXAMPLES["TargetDescription"]["libretranslate"]["value"],
        "replaceTarget": EXAMPLES["TargetDescription"]["libretranslate"]["value"],
        "createKey": EXAMPLES["KeyRequest"]["importer"]["value"],
        "createWebhook": EXAMPLES["WebhookDescription"]["changes"]["value"],
        "replaceWebhook": EXAMPLES["WebhookDescription"]["changes"]["value"],
        "createSpecification": EXAMPLES["ChoicesRequest"]["choices"]["value"],
        "addSpecificationVersion": EXAMPLES["ChoicesRequest"]["choices"]["value"],
        "requestSuite": {
            "target": SHORTEST["target"],
            "methods": ["round-trip"],
            "attributes": ["gender"],
            "languages": ["es"],
        },
        "planProfile": {
            "target": SHORTEST["target"],
            "methods": ["round-trip"],
            "attributes": ["gender"],
            "languages": ["es"],
        },
        "createSchedule": {
            "name": "Weekly",
            "request": SHORTEST,
            "interval_s": 604_800,
        },
        "changeSchedule": {
            "name": "Weekly",
            "request": SHORTEST,
            "paused": True,
            "interval_s": 604_800,
        },
        "setVisibility": EXAMPLES["VisibilityRequest"]["unlisted"]["value"],
        "withdrawRating": EXAMPLES["WithdrawalRequest"]["mistaken"]["value"],
        "rerateRating": EXAMPLES["RerateRequest"]["current"]["value"],
        "putReply": EXAMPLES["ReplyRequest"]["reply"]["value"],
        "answerReply": EXAMPLES["AnswerRequest"]["answer"]["value"],
        "addDomain": EXAMPLES["DomainRequest"]["port"]["value"],
        "changeDomain": {"ratings": "refused"},
        "createCorpus": {"name": "Notes", "attribute": "gender", "description": "Ours"},
        "changeCorpus": {"name": "Notes of May", "licence": "CC0-1.0"},
        "addCorpusItems": {"items": [{"text": "Nobody came."}]},
        "changeCorpusItem": {"text": "Nobody came in time."},
        "changeCorpusItems": {"remove": ["itm_0"]},
        "writeSentences": EXAMPLES["WritingRequest"]["written"]["value"] | {"specification": "p4-math-arts"},
        "createComposition": {"chain": [{"rating": "{rating_id}"}, {"rating": "{rating_id}"}]},
    }

    def body(self, operation: Operation) -> Any:
        """Return a valid body, or ``None`` if the operation takes no JSON."""
        if not operation.takes_body:
            return None
        written = json.dumps(self.BODIES[operation.name])
        return json.loads(written.replace("{rating_id}", self.ids["rating_id"]))

    async def send(self, operation: Operation, **options: Any) -> Any:
        """Send a request that names the existing resources."""
        return await self.client.request(operation.method, operation.url(self.ids), **options)

    def named(self, name: str) -> Operation:
        """Return the operation with an ``operationId``."""
        return next(one for one in self.operations if one.name == name)


def refused(operation: Operation, answer: Any, what: object) -> dict[str, Any]:
    """Return the problem document of an answer, which must be a documented 4xx; `what` names the request in errors."""
    told = f"{operation.name} answered {answer.status_code} to {str(what)[:200]!r}: {answer.text[:300]}"
    assert 400 <= answer.status_code < 500, told
    assert operation.documents(answer.status_code), told
    assert answer.headers["Content-Type"] == "application/problem+json", told
    problem: dict[str, Any] = answer.json()
    return problem


def harmless(operation: Operation, answer: Any, what: object) -> None:
    """Check that an answer is documented and not a server error; `what` names the request in errors."""
    told = f"{operation.name} answered {answer.status_code} to {what!r}: {answer.text[:300]}"
    assert answer.status_code < 500, told
    assert operation.documents(answer.status_code), told
