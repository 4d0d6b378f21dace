"""Links between the rated service, its rating and the rating's other formats (RFC 9264)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown

MEDIA_TYPE = "application/linkset+json"

FORMS = (
    ("report.html", "text/html"),
    ("report.md", "text/markdown"),
    ("attestation.json", "application/json"),
    ("badge.svg", "image/svg+xml"),
    ("badge.json", "application/json"),
    ("overlay.yaml", "application/yaml"),
    ("backstage.yaml", "application/yaml"),
    ("apis.json", "application/json"),
    ("azure-api-center.json", "application/json"),
    ("huggingface.yaml", "application/yaml"),
    ("jsonld.json", "application/ld+json"),
)
"""Other formats of a rating; a test compares them with `assay.reports.EMBEDS`."""


def render(shown: Shown) -> str:
    """Write the links from the service to its rating, and from the rating to its other formats."""
    return linkset([one for one in (_of_target(shown), _of_rating(shown)) if one])


def linkset(contexts: Sequence[Mapping[str, Any]]) -> str:
    """Write a set of links (RFC 9264, section 4.2), each with its ``anchor`` and its targets by relation type."""
    return json_text({"linkset": list(contexts)})


def link(href: str | None, media_type: str, title: str | None = None) -> dict[str, Any]:
    """Write one link target."""
    return {"href": href, "type": media_type} | ({"title": title} if title else {})


def _of_target(shown: Shown) -> dict[str, Any]:
    if shown.target_url is None or shown.address() is None:
        return {}
    described = link(shown.address(), "application/json", f"{shown.subject}: {shown.message}") | _freshness(shown)
    return {"anchor": shown.target_url, "describedby": [described]}


def _of_rating(shown: Shown) -> dict[str, Any]:
    if shown.address() is None:
        return {}
    about = {"about": [{"href": shown.target_url}]} if shown.target_url else {}
    return {
        "anchor": shown.address(),
        **about,
        "alternate": [link(shown.address(file), media_type) for file, media_type in FORMS],
        "collection": [link(f"{shown.base_url}/v1/ratings", "application/json")],
    }


def _freshness(shown: Shown) -> dict[str, list[str]]:
    """Return extension attributes of Assay, whose values are lists of texts (RFC 9264, section 4.2.4.3)."""
    names = ("rated_at", "expires_at", "methodology", "status", "requester", "host_proved", "description", "objection")
    facts = {name.replace("_", "-"): shown.known_facts.get(name) for name in names}
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in facts.items()}
    return {name: [text] for name, text in texts.items() if text is not None}
