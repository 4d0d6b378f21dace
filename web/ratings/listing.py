"""``/ratings``: the list of ratings."""

from __future__ import annotations

from starlette.responses import Response

from web.frame import Pages, Visit

pages = Pages()

FILTERS = ("q", "kind", "letter", "method", "attribute", "state")
ROWS = 50


@pages.get("/ratings")
async def ratings(visit: Visit) -> Response:
    """List the caller's ratings and all public ones, newest first; the filters are in the address."""
    filters = {name: visit.query(name).strip() for name in FILTERS}
    mine = visit.query("mine") == "true"
    page = await visit.api.get("/v1/ratings", **filters, mine=mine, cursor=visit.query("cursor"), limit=ROWS)
    methods = await visit.api.get("/v1/methods")
    return visit.page(
        "ratings/ratings.html",
        items=page["items"],
        asked=filters,
        mine=mine,
        filtered=mine or any(filters.values()),
        methods=sorted(method["name"] for method in methods["items"]),
        next=visit.older(page["next_cursor"]),
    )
