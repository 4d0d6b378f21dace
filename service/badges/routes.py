"""Badges and catalog formats (`reports.embeds.EMBEDS`) by rating, by target, by address and by service.

Reading never starts work. A missing image would break a page, so a badge by target or address always exists:
without a public rating it is ``unrated``, with the same bytes whether the target is unknown or its ratings are
private. By address, only ratings that stand for it count (`store.ratings.standing`).
"""

import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from assay.document import JsonObject
from reports.embeds import EMBEDS, Embed, PublicView
from service.container import Service, ServiceDependency
from service.http.authentication import PublicReader
from service.http.json import Answer, StrictRoute
from service.http.openapi.common_schemas import QueryModel
from service.http.openapi.responses import FRESHNESS, NOT_MODIFIED, Responses
from service.http.problems import base_url, existing
from service.ratings.schemas import ModelName
from service.ratings.service import caching
from store.core.database import Connection
from store.ratings import published
from store.ratings.published import DatedRating

router = APIRouter(route_class=StrictRoute)

BADGES = tuple(embed for embed in EMBEDS if embed.file.startswith("badge."))
"""Formats that are also available by target, by address and by service."""

OLDEST_S = 1.0
"""Age in seconds above which a cached rating is never used, so that a badge shows a withdrawal within this time."""

POLICY = "default-src 'none'"
"""``Content-Security-Policy``: an embed loads and runs nothing."""

Name = Annotated[str | None, Field(max_length=100)]
Route = Callable[..., Coroutine[Any, Any, Response]]
RatingReader = Callable[..., DatedRating]


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
        return await _embed_response(request, service, embed, _read_rating, rating_id, caller.tenant)

    return of_rating


def _target_route(embed: Embed) -> Route:
    """Return the function that answers with an embed (such as a badge) of a target's newest rating."""

    async def of_target(
        request: Request, target_id: str, service: ServiceDependency, query: Annotated[RatingFilter, Query()]
    ) -> Response:
        return await _embed_response(request, service, embed, published.of_target, target_id, **query.model_dump())

    return of_target


def _service_route(embed: Embed) -> Route:
    """Return the function that answers with an embed (such as a badge) of a service's newest rating."""

    async def of_service(
        request: Request, service_name: str, service: ServiceDependency, query: Annotated[RatingFilter, Query()]
    ) -> Response:
        return await _embed_response(request, service, embed, published.of_service, service_name, **query.model_dump())

    return of_service


def _address_route(embed: Embed) -> Route:
    """Return the function that answers with an embed (such as a badge) of the rating of an address."""

    async def of_address(
        request: Request, service: ServiceDependency, query: Annotated[AddressQuery, Query()]
    ) -> Response:
        return await _embed_response(request, service, embed, published.of_address, **query.model_dump())

    return of_address


def _read_rating(c: Connection, rating_id: str, tenant: str) -> DatedRating:
    dated_rating = published.rating(c, rating_id, tenant)
    existing(dated_rating.rating, "rating", rating_id)
    return dated_rating


async def _embed_response(
    request: Request, service: Service, embed: Embed, read: RatingReader, *names: str, **filters: str | None
) -> Response:
    """Return an embed (a badge or a catalog entry) of the rating that ``read(c, *names, **filters)`` returns.

    A badge can be on pages with a thousand views a second; it is read and rendered once for all of them.
    """
    base = base_url(request)

    async def build_answer() -> Answer:
        return render(await service.database_for(request).read(read, *names, **filters), embed, base)

    key = (embed.file, base, read.__name__, *names, *filters.values())
    return (await service.embeds.get(key, build_answer)).response()


def render(dated_rating: DatedRating, embed: Embed, base_url: str) -> Answer:
    """Render a badge or a catalog entry of a rating; it says ``unrated`` if there is no rating.

    The entity tag is a digest of the bytes: a badge shows the rating's age, so it changes though the rating does not.
    """
    rating = dated_rating.rating
    now = datetime.fromtimestamp(dated_rating.at / 1000, UTC)  # from milliseconds
    view = PublicView(document=None, now=now, base_url=base_url, visibility="public")
    if rating is not None:
        is_withdrawn = rating.withdrawn_at is not None
        view = replace(view, document=rating.document, visibility=rating.visibility, withdrawn=is_withdrawn)
        if (standing := dated_rating.standing) is not None:  # the relation of the rating to its address
            view = replace(view, requester=standing.requester, host_proved=standing.host_proved)
            view = replace(view, objects=dated_rating.objects, changed_since=standing.changed_since)
    body = embed.render(view).encode()
    return Answer(200, body, {"Content-Type": embed.media_type, **_cache_headers(body, view), **_date_headers(view)})


def _cache_headers(body: bytes, view: PublicView) -> dict[str, str]:
    private = view.visibility == "private"
    return {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": caching(private=private),
        "Content-Security-Policy": POLICY,
        # lets scripts on other websites, such as a catalog, read public embeds
        **({"Vary": "Authorization"} if private else {"Access-Control-Allow-Origin": "*"}),
    }


def _date_headers(view: PublicView) -> dict[str, str]:
    facts = view.known_facts
    headers = {
        "X-Assay-Rated-At": facts.get("rated_at"),
        "X-Assay-Expires-At": facts.get("expires_at"),
        "X-Assay-Methodology": facts.get("methodology"),
    }
    return {name: value for name, value in headers.items() if value is not None}


RATED_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

EXAMPLE: JsonObject = {
    "id": "rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD",
    "letter": "DSBS",
    "declared": True,
    "probabilities": {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0},
    "method": "round-trip",
    "attribute": "gender",
    "target": {"name": "Apertium eng-spa", "kind": "translator", "url": "http://127.0.0.1:5000"},
    "methodology": {"version": "1.3.0"},
    "requester": {"role": "owner", "host_proved": True, "description": "default"},
    "rated_at": RATED_AT.isoformat(),
    "expires_at": (RATED_AT + timedelta(days=90)).isoformat(),
}
"""Rating that is rendered in the examples of the OpenAPI document."""

_HEADERS = {
    "ETag": {
        "description": "Identifies these bytes, which change with the rating, its age and its state.",
        "required": True,
        "schema": {"type": "string"},
    },
    **FRESHNESS,
}


def _operation_id(prefix: str, embed: Embed) -> str:
    """Return the operationId of an embed, such as ``getRatingBadgeSvg``."""
    return prefix + "".join(part.capitalize() for part in re.split(r"[.-]", embed.file))


def _responses(embed: Embed) -> Responses:
    """Return the OpenAPI responses of an embed's operation, with an example."""
    example = PublicView(EXAMPLE, RATED_AT + timedelta(days=3), base_url="http://127.0.0.1:8000", visibility="public")
    media_type = embed.media_type.partition(";")[0]
    content: JsonObject = {"schema": {"type": "string"}, "example": embed.render(example)}
    if embed.content is not None:  # for YAML, the documented schema and example are those of its data
        document = embed.content(example)
        list_schema: JsonObject = {"type": "array", "items": {"type": "object"}}
        content = {"schema": list_schema if isinstance(document, list) else {"type": "object"}, "example": document}
    elif media_type.endswith("json"):
        content = {"schema": {"type": "object"}, "example": json.loads(embed.render(example))}
    success = {"description": "The current state.", "headers": _HEADERS, "content": {media_type: content}}
    return {200: success, 304: NOT_MODIFIED}


def _add_route(path: str, embed: Embed, route: Route, id_prefix: str, tag: str, of_what: str) -> None:
    """Add the route of an embed (such as a badge); `id_prefix` begins its operation id, `of_what` ends its summary."""
    router.add_api_route(
        f"{path}/{embed.file}",
        route,
        methods=["GET"],
        tags=[tag],
        operation_id=_operation_id(id_prefix, embed),
        summary=f"{embed.title} {of_what}",
        description=f"Get {embed.summary}. Reading never starts work.",
        response_class=Response,
        responses=_responses(embed),
    )


for embed in EMBEDS:
    _add_route("/v1/ratings/{rating_id}", embed, _rating_route(embed), "getRating", "ratings", "of a rating")
for embed in BADGES:
    _add_route(
        "/v1/targets/{target_id}", embed, _target_route(embed), "getTarget", "badges", "of a target's last rating"
    )
    _add_route("/v1/services/{service_name}", embed, _service_route(embed), "getService", "badges", "of a service")
    _add_route("/v1", embed, _address_route(embed), "find", "badges", "of the rating of an address")
