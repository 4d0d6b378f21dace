"""``/overview``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Visit

pages = Pages()

KINDS = {
    "translator": "Translators",
    "language-model": "Language models",
    "embedder": "Embedders",
    "classifier": "Classifiers",
    "regressor": "Regressors",
    "image-classifier": "Image classifiers",
}
"""Kinds of services as headings."""

COLUMNS = ("UCS", "DSBS", "BS", None)
NEWEST = 10
"""Ratings and jobs that are shown."""


@pages.get("/overview")
async def overview(visit: Visit) -> Response:
    """Show the newest letters, what needs attention, and what runs."""
    found = await visit.api.get("/v1/overview")
    running = await visit.api.get("/v1/jobs", status="running", limit=NEWEST)
    newest = await visit.api.get("/v1/ratings", mine=True, limit=NEWEST)
    return visit.page(
        "overview/overview.html",
        overview=found,
        wall=list(_wall(found["targets"])),
        running=running["items"],
        newest=newest["items"],
    )


def _wall(targets: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, int, list[list[Mapping[str, Any]]]]]:
    """Return for each kind its heading, its number of services, and their ratings by letter."""
    rows = list(targets)
    for kind, heading in KINDS.items():
        here = [row for row in rows if row["target"]["kind"] == kind]
        if here:
            yield heading, len(here), [[row for row in here if row["letter"] == letter] for letter in COLUMNS]
