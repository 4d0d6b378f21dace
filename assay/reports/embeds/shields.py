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


def render(shown: Shown) -> str:
    """Write the endpoint's answer (https://shields.io/badges/endpoint-badge)."""
    message = f"{shown.message} · {shown.rated_on.isoformat()}" if shown.rated_on else shown.message
    message += by(shown)
    return json_text(
        {
            "schemaVersion": 1,
            "label": shown.subject,
            "message": message,
            "color": colour(shown),
            "labelColor": INK,
            "cacheSeconds": CACHE_S,
        }
    )
