"""The badge as data for shields.io's endpoint badge, for pages that draw all their badges there.

The schema is closed: a reader that finds an unknown field draws "invalid properties". So the age of
the rating is shown by the date in the message and by the response's headers, and the message says who requested it.
"""

from __future__ import annotations

from assay.reports.embeds.badge import INK, by, colour
from assay.reports.embeds.notation import json_text
from assay.reports.embeds.public_view import Shown

CACHE_S = 300
"""Seconds that shields.io keeps a badge; this is its minimum."""


def render(view: Shown) -> str:
    """Write the endpoint's answer (https://shields.io/badges/endpoint-badge)."""
    message = f"{view.message} · {view.rated_on.isoformat()}" if view.rated_on else view.message
    message += by(view)
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
