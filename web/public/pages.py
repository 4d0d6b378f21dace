"""``/`` and ``/registry``: the meaning of the letters, and all public ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from web.frame import Pages, Visit
from web.frame.kinds import KINDS

pages = Pages(public=True)

NEWEST = 12
"""Number of ratings on the start page."""

ROWS = 50
"""Number of ratings on a page of the registry."""

FILTERS = ("q", "kind", "letter", "method", "attribute")
"""Filters of the registry; its address and ``GET /v1/ratings`` use the same names."""

COUNTED = ("UCS", "DSBS", "BS", "inconclusive")


@pages.get("/")
async def start(visit: Visit) -> Response:
    """Explain the letters, and show the newest public ratings and the number of services by letter."""
    newest = await visit.api.get("/v1/ratings", limit=NEWEST)
    counted = await visit.api.get("/v1/registry/distribution")
    return visit.page("public/start.html", newest=newest["items"], bars=list(bars(counted["items"])), kinds=KINDS)


@pages.get("/registry")
async def registry(visit: Visit) -> Response:
    """List public ratings; the filters are in the address."""
    chosen = {name: visit.query(name) for name in FILTERS if visit.query(name)}
    listing = await visit.api.get("/v1/ratings", **chosen, cursor=visit.query("cursor"), limit=ROWS)
    return visit.page(
        "public/registry.html",
        ratings=listing["items"],
        chosen=chosen,
        following=visit.older(listing["next_cursor"]),
        kinds=KINDS,
        methods=[method["name"] for method in (await visit.api.get("/v1/methods"))["items"]],
        attributes=(await visit.api.get("/v1/attributes"))["items"],
        base=visit.base_url,
    )


def bars(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return for each row of ``GET /v1/registry/distribution`` the segments of its bar.

    A segment is ``(letter, count, x, width)``; the row with the most services has the width 100.
    """
    longest = max((row["targets"] for row in rows), default=0)
    for row in rows:
        at, segments = 0, []
        for letter in COUNTED:
            if count := row["counts"][letter]:
                segments.append((letter, count, 100 * at / longest, 100 * count / longest))
                at += count
        yield {**row, "segments": segments}
