"""Badges and catalog formats (`reports.embeds.EMBEDS`) by rating, by target, by address and by service.

Reading never starts work. A missing image would break a page, so a badge by target or address always exists:
without a public rating it is ``unrated``, with the same bytes whether the target is unknown or its ratings are
private. By address, only ratings that stand for it count (`store.ratings.standing`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from reports.embeds import EMBEDS, Embed
from service.badges.schemas import answers, operation
from service.badges.service import render
from service.container import Service, ServiceDependency
from service.http.authentication import PublicReader
from service.http.json import Answer, StrictRoute
from service.http.openapi.common_schemas import QueryModel
from service.http.problems import base_url, not_found
from service.registry.schemas import ModelName
from store.ratings import published
from store.ratings.published import DatedRating

router = APIRouter(route_class=StrictRoute)

BADGES = tuple(embed for embed in EMBEDS if embed.file.startswith("badge."))
"""Formats that are also available by target, by address and by service."""

NO_WORK = "Reading never starts work."

Name = Annotated[str | None, Field(max_length=100)]
Route = Callable[..., Coroutine[Any, Any, Response]]
RatingReader = Callable[[], Awaitable[DatedRating]]


class RatingFilter(QueryModel):
    """Filters of a target's ratings."""

    attribute: Annotated[Name, Field(description="Only ratings for this attribute, such as `gender`.")] = None
    method: Annotated[Name, Field(description="Only ratings by this method, such as `round-trip`.")] = None


class AddressQuery(RatingFilter):
    """Query parameters of a badge by address."""

    target_url: Annotated[str, Field(min_length=1, max_length=2048, description="The target's address.")]
    model: ModelName = None


def _rating_route(embed: Embed) -> Route:
    async def of_rating(request: Request, rating_id: str, service: ServiceDependency, caller: PublicReader) -> Response:
        async def read_rating() -> DatedRating:
            dated_rating = await service.database_for(request).read(published.rating, rating_id, caller.tenant)
            if dated_rating.rating is None:
                raise not_found("rating", rating_id)
            return dated_rating

        return await _embed_response(request, service, embed, read_rating, "rating", caller.tenant, rating_id)

    return of_rating


def _target_route(embed: Embed) -> Route:
    async def of_target(
        request: Request, target_id: str, service: ServiceDependency, query: Annotated[RatingFilter, Query()]
    ) -> Response:
        filters = query.model_dump()
        read_rating = partial(service.database_for(request).read, published.of_target, target_id, **filters)
        return await _embed_response(request, service, embed, read_rating, "target", target_id, *filters.values())

    return of_target


def _service_route(embed: Embed) -> Route:
    async def of_service(
        request: Request, service_name: str, service: ServiceDependency, query: Annotated[RatingFilter, Query()]
    ) -> Response:
        filters = query.model_dump()
        read_rating = partial(service.database_for(request).read, published.of_service, service_name, **filters)
        return await _embed_response(request, service, embed, read_rating, "service", service_name, *filters.values())

    return of_service


def _address_route(embed: Embed) -> Route:
    async def of_address(
        request: Request, service: ServiceDependency, query: Annotated[AddressQuery, Query()]
    ) -> Response:
        read_rating = partial(service.database_for(request).read, published.of_address, **query.model_dump())
        return await _embed_response(request, service, embed, read_rating, "address", *query.model_dump().values())

    return of_address


async def _embed_response(
    request: Request, service: Service, embed: Embed, read_rating: RatingReader, *key: str | None
) -> Response:
    """Return an embed of the rating that `read_rating` returns; `key` holds everything on which `read_rating` depends.

    A badge can be on pages with a thousand views a second; it is read and rendered once for all of them.
    """
    base = base_url(request)

    async def build_answer() -> Answer:
        return render(await read_rating(), embed, base)

    return (await service.embeds.get((embed.file, base, *key), build_answer)).response()


def _add_route(path: str, embed: Embed, route: Route, prefix: str, tag: str, of_what: str) -> None:
    router.add_api_route(
        f"{path}/{embed.file}",
        route,
        methods=["GET"],
        tags=[tag],
        operation_id=operation(prefix, embed),
        summary=f"{embed.title} {of_what}",
        description=f"Get {embed.summary}. {NO_WORK}",
        response_class=Response,
        responses=answers(embed),
    )


for embed in EMBEDS:
    _add_route("/v1/ratings/{rating_id}", embed, _rating_route(embed), "getRating", "ratings", "of a rating")
for embed in BADGES:
    _add_route(
        "/v1/targets/{target_id}", embed, _target_route(embed), "getTarget", "badges", "of a target's last rating"
    )
    _add_route("/v1/services/{service_name}", embed, _service_route(embed), "getService", "badges", "of a service")
    _add_route("/v1", embed, _address_route(embed), "find", "badges", "of the rating of an address")
