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
    asked = {name: visit.query(name).strip() for name in FILTERS}
    mine = visit.query("mine") == "true"
    listed = await visit.api.get("/v1/ratings", **asked, mine=mine, cursor=visit.query("cursor"), limit=ROWS)
    methods = await visit.api.get("/v1/methods")
    return visit.page(
        "ratings/ratings.html",
        items=listed["items"],
        asked=asked,
        mine=mine,
        filtered=mine or any(asked.values()),
        methods=sorted(one["name"] for one in methods["items"]),
        next=visit.older(listed["next_cursor"]),
    )
