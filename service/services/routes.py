"""``/v1/services``: the public ratings of one service with a feed, and rankings of the services of one kind."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from fastapi import APIRouter, Query, Request, Response

from assay.model import Kind
from service.container import Service, ServiceDependency, sum_of
from service.http.authentication import DOWNLOAD, NO_TENANT, PublicReader
from service.http.json import StrictRoute, json_response
from service.http.openapi.responses import fails, returns
from service.http.problems import base_url, not_found
from service.http.replica import PublicDatabase
from service.jobs.ledger import csv_file
from service.ratings.service import PUBLIC_CACHE
from service.services.ranking import RankedService, Ranking
from service.services.schemas import (
    RankedQuestionView,
    RankedServiceView,
    RankingQuery,
    RankingView,
    RatedServiceView,
    ServiceRatingView,
)
from store.core.columns import read_clock
from store.core.database import Connection
from store.ratings import services
from store.ratings.standing import standings

router = APIRouter(prefix="/v1/services", tags=["registry"], route_class=StrictRoute)

ATOM = "http://www.w3.org/2005/Atom"

MOST_ENTRIES = 50
"""Maximum number of ratings in a feed."""

RATINGS_PER_READ = 200
"""Maximum number of ratings in memory during a download."""

EPOCH = "1970-01-01T00:00:00Z"
"""Time at which a feed without entries was updated."""

CSV_COLUMNS = (
    *("place", "letter", "declared", "service", "name", "model", "url"),
    *("effect", "estimate", "low", "high", "limit", "questions", "rated_at", "expires_at", "rating"),
)

QUESTION_PARAMETERS = ("kind", "method", "attribute", "language")
"""Parameters by which the ratings of a ranking are chosen."""


@router.get("/ranking", response_model=RankingView)
async def rank_services(
    request: Request, service: ServiceDependency, caller: PublicReader, query: Annotated[RankingQuery, Query()]
) -> Response:
    """Rank the services of a kind by the newest public rating of each (and your own), by one method and attribute.

    Declared letters come first, then the deciding effect against its limit; services whose intervals overlap share a
    place. Without a method or attribute, the pair of method and attribute with the most services is taken. `language`
    keeps only ratings measured in that one language (`round-trip` and `one-hop` only).
    """
    ranking = await _read_ranking(request, service, caller.tenant, query, query.limit)
    return json_response(ranking, headers=_cache_headers(caller.tenant))


@router.get("/ranking.csv", response_class=Response, dependencies=DOWNLOAD, responses=returns({}, "text/csv"))
async def download_ranking(
    request: Request, service: ServiceDependency, caller: PublicReader, query: Annotated[RankingQuery, Query()]
) -> Response:
    """Download a whole ranking as CSV; `q`, `start` and `limit` are ignored."""
    query = query.model_copy(update={"q": None, "start": 0})
    database = service.database_for(request)
    _, _, ranking = await _rank(service, database, caller.tenant, query)
    view_pages = _view_pages(database, await asyncio.to_thread(ranking.sorted_by, query.sort))
    file = csv_file("ranking", CSV_COLUMNS, view_pages, _csv_cells)
    file.headers.update(_cache_headers(caller.tenant))
    return file


def _cache_headers(tenant: str) -> dict[str, str]:
    return {"Cache-Control": "private, no-cache" if tenant else PUBLIC_CACHE, "Vary": "Authorization"}


async def _view_pages(
    database: PublicDatabase, rows: Sequence[RankedService]
) -> AsyncIterator[Sequence[RankedServiceView]]:
    for start in range(0, len(rows), RATINGS_PER_READ):
        yield await database.read(_read_views, rows[start : start + RATINGS_PER_READ])


@router.get("/ranking.atom", response_class=Response, responses=returns({}, "application/atom+xml"))
async def get_ranking_feed(
    request: Request, service: ServiceDependency, query: Annotated[RankingQuery, Query()]
) -> Response:
    """Subscribe to a ranking of public ratings (Atom): its services with their places, the newest rating first."""
    query = query.model_copy(update={"q": None, "start": 0, "sort": "rated_at"})
    ranking = await _read_ranking(request, service, NO_TENANT, query, MOST_ENTRIES)
    parameters = {name: value for name in QUESTION_PARAMETERS if (value := getattr(ranking, name))}
    query_text = urlencode(parameters)
    entries = []
    for row in ranking.items:
        place_text = "" if row.place is None else f", place {row.place}"
        entries.append((f"{_letter_text(row.rating)}: {row.name}{place_text}", row.rating))
    title = f"Bias ratings of services: {', '.join(parameters.values())}"
    page_path, feed_path = f"/compare?{query_text}", f"/v1/services/ranking.atom?{query_text}"
    feed = _atom_feed(title, base_url(request), page_path, feed_path, entries)
    return Response(feed, media_type="application/atom+xml; charset=utf-8", headers={"Cache-Control": PUBLIC_CACHE})


async def warm_ranking_cache(service: Service, database: PublicDatabase, tenant: str) -> None:
    """Compute the ranking that is shown first for each kind of service, to cache it before the first request."""
    for kind in Kind:
        await _rank(service, database, tenant, RankingQuery(kind=kind))


async def _read_ranking(
    request: Request, service: Service, tenant: str, query: RankingQuery, limit: int
) -> RankingView:
    """Return at most `limit` rows of a ranking; only the ratings of these rows are read in full."""
    database = service.database_for(request)
    query, questions, ranking = await _rank(service, database, tenant, query)
    start, page = await asyncio.to_thread(ranking.page, query.sort, query.q, query.start, limit)
    views = await database.read(_read_views, page)
    # the query has the ranking's kind of service, method and attribute
    return RankingView.from_row(query, questions=questions, total=len(ranking), start=start, items=views)


async def _rank(
    service: Service, database: PublicDatabase, tenant: str, query: RankingQuery
) -> tuple[RankingQuery, list[RankedQuestionView], Ranking]:
    """Return the query with method and attribute filled in, all such pairs of its kind of service, and the ranking."""
    now = await database.read(read_clock)
    kind = query.kind
    count_by_pair = partial(services.questions, tenant=tenant, kind=kind)
    cache_key = ("questions", tenant, kind)
    counts = await service.merge(database, cache_key, read_part=count_by_pair, merge=sum_of, kind=kind)
    pairs = [  # of method and attribute, those with the most services first
        RankedQuestionView(method=method, attribute=attribute, services=count)
        for (method, attribute), count in counts.items()
    ]
    pairs.sort(key=lambda pair: (-pair.services, pair.method, pair.attribute))
    filters = {name: value for name in ("method", "attribute") if (value := getattr(query, name)) is not None}
    for pair in pairs:  # the first that fits is taken
        if all(getattr(pair, name) == value for name, value in filters.items()):
            filters = {"method": pair.method, "attribute": pair.attribute}
            break
    else:  # no service of this kind was rated by this method for this attribute
        return query, pairs, Ranking([], now)
    query = query.model_copy(update=filters)
    filters["kind"] = kind
    read_newest = partial(services.newest, tenant=tenant, **filters)
    if query.language is None:
        ranking_key = ("ranking", tenant, *filters.values())
        merge = partial(Ranking, now=now)
        ranking = await service.merge(database, ranking_key, read_part=read_newest, merge=merge, **filters)
        return query, pairs, ranking
    # an empty `part` admits ratings that are not current: the newest one in a language alone may be such a rating
    rows = await database.read(read_newest, language=query.language, part=())
    return query, pairs, await asyncio.to_thread(Ranking, [rows], now)


def _read_views(c: Connection, rows: Sequence[RankedService]) -> list[RankedServiceView]:
    """Return the views of rows of a ranking, except ratings that were withdrawn after it was computed."""
    now = read_clock(c)
    ratings = services.read(c, [row.id for row in rows])
    standing = standings(c, ratings.values())
    valid_rows = [row for row in rows if row.id in ratings and ratings[row.id].withdrawn_at is None]
    return [RankedServiceView.of(row.place, ratings[row.id], standing[row.id], now) for row in valid_rows]


def _csv_cells(view: RankedServiceView) -> list[object]:
    """Return the row of a service, in the order of `CSV_COLUMNS`."""
    rating = view.rating
    effect_cells = [getattr(rating.effect, name, None) for name in ("name", "estimate", "low", "high", "limit")]
    return [
        *(view.place, rating.letter, rating.declared, view.service, view.name, view.model, view.url),
        *(*effect_cells, rating.questions, rating.rated_at, rating.expires_at, rating.id),
    ]


@router.get("/{service_name}", response_model=RatedServiceView, responses=fails(404))
async def get_service(request: Request, service: ServiceDependency, service_name: str) -> Response:
    """Read the public ratings of exactly one service (kind, protocol, address, settings), by method and attribute.

    `service_name` is the name in a ranking, or the id of a public rating. At most the newest 100 ratings of each method
    and attribute are listed. Ratings that were withdrawn, or in which counts of people are masked, are left out.
    """
    return json_response(await _read_service(request, service, service_name), headers={"Cache-Control": PUBLIC_CACHE})


@router.get(
    "/{service_name}/feed.atom", response_class=Response, responses=returns({}, "application/atom+xml") | fails(404)
)
async def get_service_feed(request: Request, service: ServiceDependency, service_name: str) -> Response:
    """Subscribe to the public ratings of a service, newest first (Atom)."""
    view = await _read_service(request, service, service_name)
    entries = [
        (f"{_letter_text(rating)}: {series.method}, {series.attribute}", rating)
        for series in view.series
        for rating in series.ratings
    ]
    entries.sort(key=lambda title_and_rating: title_and_rating[1].rated_at, reverse=True)
    page_path, feed_path = f"/s/{view.service}", f"/v1/services/{view.service}/feed.atom"
    feed = _atom_feed(f"Bias ratings of {view.name}", base_url(request), page_path, feed_path, entries[:MOST_ENTRIES])
    return Response(feed, media_type="application/atom+xml; charset=utf-8", headers={"Cache-Control": PUBLIC_CACHE})


async def _read_service(request: Request, service: Service, name: str) -> RatedServiceView:
    def read_view(c: Connection) -> RatedServiceView:
        rated_service = services.find(c, name)
        rows = [] if rated_service is None else services.history(c, rated_service)
        shown_rows = [row for row in rows if row.withdrawn_at is None]
        if not shown_rows:
            raise not_found("service", name)
        return RatedServiceView.of(rows, standings(c, shown_rows), read_clock(c))

    return await service.database_for(request).read(read_view)


def _letter_text(rating: ServiceRatingView) -> str:
    """Return the letter of a rating for an entry's title, marked as inconclusive if it is not declared."""
    letter = "no letter" if rating.letter is None else rating.letter
    return letter if rating.declared else f"inconclusive, {letter}"


def _atom_feed(
    title: str, base: str, page_path: str, feed_path: str, entries: Sequence[tuple[str, ServiceRatingView]]
) -> bytes:
    """Write an Atom feed of `entries`: ratings with their titles, the newest first."""
    feed = ET.Element("feed", xmlns=ATOM)
    _add_element(feed, "title", title)
    _add_element(feed, "id", f"{base}{page_path}")
    _add_element(feed, "updated", next((rating.rated_at for _, rating in entries), EPOCH))
    _add_element(_add_element(feed, "author"), "name", "Assay")
    ET.SubElement(feed, "link", href=f"{base}{page_path}")
    ET.SubElement(feed, "link", rel="self", href=f"{base}{feed_path}")
    for entry_title, rating in entries:
        entry = _add_element(feed, "entry")
        _add_element(entry, "title", entry_title)
        _add_element(entry, "id", f"{base}/r/{rating.id}")
        _add_element(entry, "updated", rating.rated_at)
        ET.SubElement(entry, "link", href=f"{base}/r/{rating.id}")
    return bytes(ET.tostring(feed, "utf-8", xml_declaration=True))


def _add_element(parent: ET.Element, name: str, text: str | None = None) -> ET.Element:
    """Add an element to `parent` and return it; characters that XML cannot have are left out of its text."""
    element = ET.SubElement(parent, name)
    element.text = None if text is None else "".join(character for character in text if character.isprintable())
    return element
