"""Writers of a rating for catalogs: A2A, APIs.json, Azure, Backstage, Hugging Face, schema.org, shields.io."""

import json
from collections.abc import Mapping
from importlib.resources import files

from assay.document import Json, JsonObject
from assay.model import Kind, Letter
from reports.embeds.badge import INK, circumstances_suffix, colour, describe
from reports.embeds.notation import json_text
from reports.embeds.public_view import PublicView, State

A2A_EXTENSION = "/guide/agent-card"
"""Page of the agency that specifies the extension; its address identifies the extension."""


def a2a_extension(view: PublicView) -> str:
    """Write an ``AgentExtension`` for ``capabilities.extensions`` of an agent card (https://a2a-protocol.org).

    The description does not state the rating's age, because the owner's card keeps a copy. Unknown facts are left out.
    """
    links = {"attestation": view.address("attestation.json"), "keys": f"{view.base_url}/.well-known/jwks.json"}
    return json_text(
        {
            "uri": view.base_url + A2A_EXTENSION,
            "description": f"{view.subject}: {view.message}{circumstances_suffix(view)}",
            "required": False,
            "params": {**view.known_facts, **(links if view.address() else {})},
        }
    )


APIS_JSON_PROPERTIES = (
    ("X-BiasRating", ""),
    ("X-BiasRatingReport", "report.html"),
    ("X-BiasRatingBadge", "badge.svg"),
    ("X-BiasRatingOverlay", "overlay.yaml"),
)
"""Property types of Assay (their names begin with X-, as the specification requires) with the files they link to."""


def apis_json(view: PublicView) -> str:
    """Write the APIs.json entry of the rated service (https://apisjson.org), whose ``baseURL`` identifies it."""
    entry: JsonObject = {"name": view.target, "description": describe(view)}
    if view.rating.target.url:
        entry["baseURL"] = view.rating.target.url
    if view.address():
        entry["humanURL"] = view.address("report.html")
    properties = [{"type": kind, "url": view.address(file)} for kind, file in APIS_JSON_PROPERTIES if view.address()]
    return json_text({"apis": [{**entry, "properties": properties, "x-bias-rating": view.facts}]})


AZURE_NAME = "bias-rating"

AZURE_SCHEMA: Json = json.loads(files(__package__).joinpath("azure_schema.json").read_text("utf-8"))
"""JSON Schema of the facts of a rating; the API's properties leave unknown facts out."""


def azure_api_center(view: PublicView) -> str:
    """Write JSON for Azure API Center: a metadata schema, to be created once, and its values for the rated API.

    ``metadataSchemas`` are bodies of "Metadata Schemas - Create Or Update" (their ``schema`` is JSON in a string, as
    Azure requires); ``customProperties`` go into the API's ``properties``.
    """
    assignments = [{"entity": "api", "required": False, "deprecated": False}]
    schema = {"name": AZURE_NAME, "properties": {"schema": json.dumps(AZURE_SCHEMA), "assignedTo": assignments}}
    return json_text({"metadataSchemas": [schema], "customProperties": {AZURE_NAME: view.known_facts}})


BACKSTAGE_PREFIX = "assay"
"""Prefix of the annotations' names, which is followed by a slash and the name of a fact."""


def backstage(view: PublicView) -> JsonObject:
    """Return the content to merge into the ``metadata`` of an entity's ``catalog-info.yaml``, without unknown facts."""
    annotations = {f"{BACKSTAGE_PREFIX}/{name.replace('_', '-')}": text for name, text in view.known_texts.items()}
    return {"metadata": {"annotations": annotations, "links": _card_links(view)}}


def _card_links(view: PublicView) -> list[JsonObject]:
    """Return the links of an entity in Backstage: to the rating's report and badge."""
    if view.address() is None:
        return []
    return [
        {
            "url": view.address("report.html"),
            "title": f"{view.subject}: {view.message}",
            "icon": "docs",
            "type": "bias-rating",
        },
        {"url": view.address("badge.svg"), "title": "Badge", "type": "badge"},
    ]


TASKS: Mapping[str, str] = {
    Kind.TRANSLATOR: "translation",
    Kind.CLASSIFIER: "text-classification",
    Kind.REGRESSOR: "tabular-regression",
    Kind.EMBEDDER: "feature-extraction",
    Kind.LANGUAGE_MODEL: "text-generation",
    Kind.IMAGE_CLASSIFIER: "image-classification",
    Kind.DECISION_TOOL: "tabular-classification",
}
"""Hugging Face task of each kind of service."""
ANY_TASK = "other"


def hugging_face(view: PublicView) -> JsonObject:
    """Return the ``model-index`` for the head of a model card; without a rating, its list of results is empty."""
    return {"model-index": [{"name": view.target, "results": [_model_result(view)] if view.rating.id else []}]}


def _model_result(view: PublicView) -> JsonObject:
    """Return the rating as an evaluation result of a model card on Hugging Face."""
    names = [name for name in (view.rating.method, view.rating.attribute) if name]
    metrics = [_model_metric(view, "bias-rating", "Bias rating", view.message)]
    if view.probability is not None:
        title = f"Probability of {view.letter}"
        metrics.append(_model_metric(view, "bias-rating-probability", title, view.probability))
    return {
        "task": {"type": TASKS.get(view.rating.target.kind or "", ANY_TASK)},
        "dataset": {"type": "-".join(["assay", *names]), "name": f"Assay probes ({', '.join(names)})"},
        "metrics": metrics,
        "source": {"name": f"Assay, methodology {view.rating.methodology.version}", "url": view.address("report.html")},
    }


def _model_metric(view: PublicView, kind: str, name: str, value: object) -> JsonObject:
    """Return a metric of the model index, whose `args` have the dates and the status of the rating."""
    dates = {key: view.known_facts[key] for key in ("rated_at", "expires_at", "status") if key in view.known_facts}
    return {"type": kind, "name": name, "value": value, "args": dates}


def json_ld(view: PublicView) -> str:
    """Write a schema.org ``Review``, for the head of a page; without a rating it has no ``reviewRating``."""
    facts = view.known_facts
    review: JsonObject = {
        "@context": "https://schema.org",
        "@type": "Review",
        "@id": view.address(),
        "url": view.address("report.html"),
        "name": f"Bias rating of {view.target}",
        "description": describe(view),
        "creativeWorkStatus": view.state.value,
        "author": {"@type": "Organization", "name": "Assay", "url": view.base_url},
        "itemReviewed": _without_nulls({"@type": "WebAPI", "name": view.target, "url": view.rating.target.url}),
        "reviewAspect": view.subject,
        "datePublished": facts.get("rated_at"),
        "expires": facts.get("expires_at"),
        "version": view.rating.methodology.version,
        "image": view.address("badge.svg"),
        "reviewRating": _schema_rating(view),
    }
    return json_text(_without_nulls(review))


def _schema_rating(view: PublicView) -> JsonObject | None:
    """Return a schema.org ``Rating`` of the letter with its scale; ``None`` if it is not declared or was withdrawn."""
    if view.letter is None or not view.declared or view.state not in {State.RATED, State.EXPIRED}:
        return None
    return {
        "@type": "Rating",
        "ratingValue": view.letter.value,
        "bestRating": Letter.UCS.value,
        "worstRating": Letter.BS.value,
        "ratingExplanation": view.meaning,
    }


def _without_nulls(properties: Json) -> JsonObject:
    return {key: value for key, value in properties.items() if value is not None}


OVERLAY_VERSION = "1.1.0"
"""Version of the Overlay Specification; readers of version 1.0 accept the same file."""


def overlay(view: PublicView) -> JsonObject:
    """Return an OpenAPI Overlay (https://spec.openapis.org/overlay/v1.1.0.html).

    The owner's file is not changed: a tool that applies overlays merges ``info.x-bias-rating`` into it.
    """
    return {
        "overlay": OVERLAY_VERSION,
        "info": {"title": f"Bias rating of {view.target}", "version": view.rating.id or "none"},
        "actions": [
            {
                "target": "$.info",
                "description": f"{view.subject}: {view.message}",
                "update": {"x-bias-rating": view.facts},
            }
        ],
    }


CACHE_S = 300
"""Time in seconds for which shields.io caches a badge, its minimum."""


def shields(view: PublicView) -> str:
    """Write the answer to shields.io's endpoint badge (https://shields.io/badges/endpoint-badge).

    No other field may be added: shields.io would draw "invalid properties". So the age of the rating is
    shown by the date in the message and by the response's headers, and the message says who requested the rating.
    """
    message = f"{view.message} · {view.rated_on.isoformat()}" if view.rated_on else view.message
    message += circumstances_suffix(view)
    return json_text(
        {
            "schemaVersion": 1,
            "label": view.subject,
            "message": message,
            "color": colour(view),
            "labelColor": INK,
            "cacheSeconds": CACHE_S,
        }
    )
