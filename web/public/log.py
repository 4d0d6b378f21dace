"""``/log``: the transparency log, a permanent record of every published and withdrawn rating."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from web.frame import Pages, Refused, Visit
from web.frame.visit import whole_number

pages = Pages(public=True)

ROWS = 50
"""Number of entries on a page."""


@pages.get("/log")
async def log(visit: Visit) -> Response:
    """Show the size and root of the log, its entries (newest first), and a consistency proof."""
    head = await visit.api.get("/v1/log")
    rating, before_text = visit.query("rating"), visit.query("before")
    before = min(whole_number(before_text) or head["size"], head["size"])
    if rating:
        listing = await visit.api.get("/v1/log/entries", rating=rating, limit=ROWS)
    else:
        first = max(0, before - ROWS)
        # at least 1, because the API refuses a limit of 0
        listing = await visit.api.get("/v1/log/entries", start=first, limit=max(1, before - first))
    return visit.page(
        "public/log.html",
        head=head,
        rating=rating,
        entries=listing["items"][::-1],
        older=None if rating or before <= ROWS else f"/log?before={before - ROWS}",
        **await _consistency(visit),
    )


async def _consistency(visit: Visit) -> dict[str, Any]:
    """Return the proof that the log of the size in the address is a prefix of the present log."""
    size = visit.query("size")
    if not size:
        return {"size": "", "proof": None, "wrong": ""}
    try:
        return {"size": size, "proof": await visit.api.get("/v1/log/proof/consistency", first=size), "wrong": ""}
    except Refused as refused:
        return {"size": size, "proof": None, "wrong": refused.problem.get("detail")}
