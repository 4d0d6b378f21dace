"""An entry for the ``apis`` of an APIs.json file, the index of a provider's services.

The properties can be merged into an existing entry, which is identified by its ``baseURL``.
"""

from __future__ import annotations

from typing import Any

from assay.reports.embeds.badge import describe
from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown

PROPERTIES = (
    ("X-BiasRating", ""),
    ("X-BiasRatingReport", "report.html"),
    ("X-BiasRatingBadge", "badge.svg"),
    ("X-BiasRatingOverlay", "overlay.yaml"),
)
"""Property types that the specification leaves to providers (they begin with X-), and the files they link to."""


def render(view: Shown) -> str:
    """Write the APIs.json entry of the rated service (https://apisjson.org)."""
    entry: dict[str, Any] = {"name": view.target, "description": describe(view)}
    if view.target_url:
        entry["baseURL"] = view.target_url
    if view.address():
        entry["humanURL"] = view.address("report.html")
    properties = [{"type": kind, "url": view.address(file)} for kind, file in PROPERTIES if view.address()]
    return json_text({"apis": [{**entry, "properties": properties, "x-bias-rating": view.facts}]})
