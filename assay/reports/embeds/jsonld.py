"""The rating as linked data in the words of schema.org, for the head of a page about the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.model import Letter
from assay.reports.embeds.badge import describe
from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown, State


def render(view: Shown) -> str:
    """Write a ``Review`` of the service by the agency; without a rating it has no ``reviewRating``."""
    facts = view.known_facts
    review: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Review",
        "@id": view.address(),
        "url": view.address("report.html"),
        "name": f"Bias rating of {view.target}",
        "description": describe(view),
        "creativeWorkStatus": view.state.value,
        "author": {"@type": "Organization", "name": "Assay", "url": view.base_url},
        "itemReviewed": _existing({"@type": "WebAPI", "name": view.target, "url": view.target_url}),
        "reviewAspect": view.subject,
        "datePublished": facts.get("rated_at"),
        "expires": facts.get("expires_at"),
        "version": view.methodology,
        "image": view.address("badge.svg"),
        "reviewRating": _rating(view),
    }
    return json_text(_existing(review))


def _rating(view: Shown) -> dict[str, Any] | None:
    """Return the letter with its scale; ``None`` if it is not declared or was withdrawn."""
    if view.letter is None or not view.declared or view.state not in {State.RATED, State.EXPIRED}:
        return None
    return {
        "@type": "Rating",
        "ratingValue": view.letter.value,
        "bestRating": Letter.UCS.value,
        "worstRating": Letter.BS.value,
        "ratingExplanation": view.meaning,
    }


def _existing(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value is not None}
