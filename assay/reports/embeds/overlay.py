"""An OpenAPI Overlay that puts the rating into the description of the rated API.

The owner's file is not changed: a tool that applies overlays merges ``info.x-bias-rating`` into it.
"""

from __future__ import annotations

from typing import Any

from assay.reports.embeds.public_view import Shown

VERSION = "1.1.0"
"""Version of the Overlay Specification; readers of 1.0 read the same file."""


def content(view: Shown) -> dict[str, Any]:
    """Return the content of the OpenAPI Overlay (https://spec.openapis.org/overlay/v1.1.0.html)."""
    return {
        "overlay": VERSION,
        "info": {"title": f"Bias rating of {view.target}", "version": view.id or "none"},
        "actions": [
            {
                "target": "$.info",
                "description": f"{view.subject}: {view.message}",
                "update": {"x-bias-rating": view.facts},
            }
        ],
    }
