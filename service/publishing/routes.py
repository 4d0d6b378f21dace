"""Publication, withdrawal and differences of ratings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response

from assay.rating.difference import difference
from service.dependencies import Service, ServiceDependency
from service.http.authentication import DOWNLOAD, Caller, PublicReader, Writer
from service.http.conditional import not_modified
from service.http.idempotency import Repeat, RequestFingerprint, answer_once
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.examples import VISIBILITIES, WITHDRAWALS
from service.http.problems import not_found
from service.publishing.schemas import DifferenceQuery, RatingDifferenceView, VisibilityRequest, WithdrawalRequest
from service.ratings.routes import FoundRating, found_rating, headers_of_both
from service.ratings.schemas import RatingSummary
from store.ratings import registry
from store.ratings.ratings import StoredRating
from store.ratings.standing import standings

router = APIRouter(prefix="/v1/ratings", tags=["ratings"], route_class=StrictRoute)


@router.post("/{rating_id}/visibility", response_model=RatingSummary, response_description="The changed rating.")
async def set_visibility(
    rating_id: str,
    body: Annotated[VisibilityRequest, Body(openapi_examples=VISIBILITIES)],
    service: ServiceDependency,
    caller: Writer,
    repeat: Repeat,
) -> Response:
    """Change the visibility of your rating.

    Publishing is permanent: the rating is added to the log, and can then be withdrawn but not hidden.
    """
    return await _changed(
        service,
        caller,
        repeat,
        rating_id,
        lambda c: registry.set_visibility(c, rating_id, caller.tenant, body.visibility),
    )


@router.post("/{rating_id}/withdraw", response_model=RatingSummary, response_description="The changed rating.")
async def withdraw_rating(
    rating_id: str,
    body: Annotated[WithdrawalRequest, Body(openapi_examples=WITHDRAWALS)],
    service: ServiceDependency,
    caller: Writer,
    repeat: Repeat,
) -> Response:
    """Withdraw your rating. It stays readable at its address, marked with the reason.

    It is left out of lists and of `latest`, and no longer answers new requests.
    """
    return await _changed(
        service, caller, repeat, rating_id, lambda c: registry.withdraw(c, rating_id, caller.tenant, body.reason)
    )


@router.get("/{rating_id}/difference", response_model=RatingDifferenceView, dependencies=DOWNLOAD)
async def differ_ratings(
    request: Request,
    rating: FoundRating,
    service: ServiceDependency,
    caller: PublicReader,
    query: Annotated[DifferenceQuery, Query()],
) -> Response:
    """Compare this rating with a later one: the changes, and whether the letter changed.

    Different letters count as a change only if both posteriors support it; otherwise they may be noise.
    """
    later_rating = await found_rating(query.other, service, caller)
    headers = headers_of_both(rating, later_rating)
    if unchanged := not_modified(request, headers):
        return unchanged
    rating_difference = await asyncio.to_thread(difference, rating.rating, later_rating.rating)
    return json_response(rating_difference.as_json(), headers=headers)


async def _changed(
    service: Service,
    caller: Caller,
    repeat: RequestFingerprint,
    rating_id: str,
    change: Callable[[Any], StoredRating | None],
) -> Response:
    def work(c: Any) -> Answer:
        rating = change(c)
        if rating is None:  # the tenant has no such rating; public ratings of other tenants count as missing
            raise not_found("rating", rating_id)
        view = RatingSummary.of(rating, standings(c, [rating])[rating.id])
        return Answer(200, write_json(view), {"Content-Location": f"{router.prefix}/{rating.id}"})

    return await answer_once(service, caller, repeat, work)
