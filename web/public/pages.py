"""``/``, ``/registry``, ``/s``, ``/log``, ``/problems``, ``/docs``: letters, public ratings, the permanent record."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from assay.document import NO_EFFECT, EffectDocument, Json
from web.frame import Pages, Refused, Visit, segment
from web.frame.visit import whole_number
from web.services.service import line_of

pages = Pages(public=True)

NEWEST = 12
"""Number of ratings on the start page."""

ROWS = 50
"""Number of entries on a page of the log."""

FILTERS = ("q", "kind", "letter", "method", "attribute")
"""Filters of the registry; its address and ``GET /v1/ratings`` use the same names."""

COUNTED = ("UCS", "DSBS", "BS", "inconclusive")


@pages.get("/")
async def start(visit: Visit) -> Response:
    """Explain the letters, and show the newest public ratings and the number of services by letter."""
    newest = await visit.api.items("/v1/ratings", limit=NEWEST)
    distribution = await visit.api.items("/v1/registry/distribution")
    return visit.page("public/start.html", newest=newest, bars=list(bars(distribution)))


@pages.get("/registry")
async def registry(visit: Visit) -> Response:
    """List public ratings; the filters are in the address."""
    return visit.page(
        "public/registry.html",
        **await visit.listing("/v1/ratings", FILTERS),
        methods=[method["name"] for method in await visit.api.items("/v1/methods")],
        attributes=await visit.api.items("/v1/attributes"),
        base=visit.base_url,
    )


@pages.get("/s/{service}")
async def service(visit: Visit) -> Response:
    """Show the public ratings of one service by method, with its badges and its feed."""
    name = visit.path("service")
    document = await visit.api.get(f"/v1/services/{segment(name)}")
    if document["service"] != name:  # found by another of its names, such as a rating's id
        return visit.redirect(f"/s/{document['service']}")
    lines = [_series_line(number, series["ratings"]) for number, series in enumerate(document["series"])]
    return visit.page("public/service.html", service=document, lines=lines, base=visit.base_url)


def _series_line(number: int, ratings: Sequence[Json]) -> Markup | None:
    """Draw the deciding effects of `ratings` over time, in the figure `number`; ``None`` for fewer than two ratings."""
    sizes = [EffectDocument(*rating["effect"]["of_limit"]) if rating["effect"] else NO_EFFECT for rating in ratings]
    return line_of(ratings, sizes, "effect, in units of its limit", key=f"s{number}", limit=1.0)


def bars(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each row of ``GET /v1/registry/distribution`` with the segments of its bar (`segments`).

    A segment is ``(letter, count, x, width)``; the row with the most services has the width 100.
    """
    most_services = max((row["targets"] for row in rows), default=0)
    for row in rows:
        services_before, segments = 0, []
        for letter in COUNTED:
            if count := row["counts"][letter]:
                segments.append((letter, count, 100 * services_before / most_services, 100 * count / most_services))
                services_before += count
        yield {**row, "segments": segments}


@pages.get("/attributes")
async def attributes(visit: Visit) -> Response:
    """List the attributes with the methods, languages and numbers of words of each."""
    return visit.page("public/attributes.html", attributes=await visit.api.items("/v1/attributes"))


@pages.get("/log")
async def log(visit: Visit) -> Response:
    """Show the size and root of the log, its entries (newest first), and a consistency proof."""
    head = await visit.api.get("/v1/log")
    rating_id = visit.query("rating")
    before = min(whole_number(visit.query("before")) or head["size"], head["size"])  # end of the page, exclusive
    if rating_id:
        listing = await visit.api.get("/v1/log/entries", rating=rating_id, limit=ROWS)
    else:
        first_index = max(0, before - ROWS)
        # at least 1, because the API refuses a limit of 0
        listing = await visit.api.get("/v1/log/entries", start=first_index, limit=max(1, before - first_index))
    older_address = "" if rating_id or before <= ROWS else f"/log?before={before - ROWS}"
    return visit.page(
        "public/log.html",
        head=head,
        rating=rating_id,
        entries=listing["items"][::-1],
        older=(older_address, head["size"]),  # as `Visit.older`, with the number of all entries
        **await _consistency_proof(visit),
    )


async def _consistency_proof(visit: Visit) -> dict[str, Any]:
    """Return the template's values: the proof that the log was only extended since it had the size in the address."""
    values: dict[str, Any] = {"size": visit.query("size"), "proof": None, "wrong": ""}
    if values["size"]:
        try:
            values["proof"] = await visit.api.get("/v1/log/proof/consistency", first=values["size"])
        except Refused as error:
            values["wrong"] = error.problem.get("detail")
    return values


negotiated = Pages(public=True, negotiated=True)
"""Pages at whose addresses programs get JSON."""


@negotiated.get("/problems")
async def problems(visit: Visit) -> Response:
    """List all kinds of problems (errors that the API returns)."""
    kinds = await visit.api.items("/problems")
    return _vary_by_accept(visit.page("public/problems.html", problems=kinds, only_problem=None))


@negotiated.get("/problems/{code}")
async def problem(visit: Visit) -> Response:
    """Explain one kind of problem (an error that the API returns)."""
    document = await visit.api.get(f"/problems/{visit.path('code')}")
    return _vary_by_accept(visit.page("public/problems.html", problems=[document], only_problem=document))


@pages.get("/docs")
async def docs(visit: Visit) -> Response:
    """Show links to the API documentation, with a first request."""
    values = {"info": await visit.api.get("/v1/info"), "methods": await visit.api.items("/v1/methods")}
    return visit.page("public/docs.html", base=visit.base_url, **values)


def _vary_by_accept(response: Response) -> Response:
    """Add ``Accept`` to ``Vary``, so that caches separate the page from the JSON at the same address."""
    response.headers.add_vary_header("Accept")
    return response
