"""The rating as linked data in the words of schema.org, for the head of a page about the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.model import Letter
from assay.reports.embeds.badge import describe
from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown, State


def render(shown: Shown) -> str:
    """Write a ``Review`` of the service by the agency; without a rating it has no ``reviewRating``."""
    facts = shown.known_facts
    review: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Review",
        "@id": shown.address(),
        "url": shown.address("report.html"),
        "name": f"Bias rating of {shown.target}",
        "description": describe(shown),
        "creativeWorkStatus": shown.state.value,
        "author": {"@type": "Organization", "name": "Assay", "url": shown.base_url},
        "itemReviewed": _existing({"@type": "WebAPI", "name": shown.target, "url": shown.target_url}),
        "reviewAspect": shown.subject,
        "datePublished": facts.get("rated_at"),
        "expires": facts.get("expires_at"),
        "version": shown.methodology,
        "image": shown.address("badge.svg"),
        "reviewRating": _rating(shown),
    }
    return json_text(_existing(review))


def _rating(shown: Shown) -> dict[str, Any] | None:
    """Return the letter with its scale; ``None`` if it is not declared or was withdrawn."""
    if shown.letter is None or not shown.declared or shown.state not in {State.RATED, State.EXPIRED}:
        return None
    return {
        "@type": "Rating",
        "ratingValue": shown.letter.value,
        "bestRating": Letter.UCS.value,
        "worstRating": Letter.BS.value,
        "ratingExplanation": shown.meaning,
    }


def _existing(written: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in written.items() if value is not None}
