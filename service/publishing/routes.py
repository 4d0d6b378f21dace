"""Publishing and withdrawing ratings, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response

from assay.rating.difference import NotTheSameQuestion, difference
from service.dependencies import Here, Service
from service.http.authentication import Caller, PublicReader, Writer
from service.http.conditional import none_match
from service.http.idempotency import Repeat, Sent, once
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.examples import VISIBILITIES, WITHDRAWALS
from service.http.problems import Problem, not_found
from service.publishing.schemas import DifferenceQuery, RatingDifferenceView, VisibilityRequest, WithdrawalRequest
from service.ratings.annotations import beside
from service.ratings.routes import FoundRating, found_rating, headers_of_both
from service.ratings.schemas import RatingView
from store.ratings import registry
from store.ratings.ratings import StoredRating

router = APIRouter(prefix="/v1/ratings", tags=["ratings"], route_class=StrictRoute)


@router.post(
    "/{rating_id}/visibility",
    response_model=RatingView,
    operation_id="setVisibility",
    response_description="As it is now.",
)
async def set_visibility(
    rating_id: str,
    body: Annotated[VisibilityRequest, Body(openapi_examples=VISIBILITIES)],
    here: Here,
    caller: Writer,
    repeat: Repeat,
) -> Response:
    """Publish a rating of yours, or say otherwise who may see it.

    Publishing is for good: the rating is written to the log, and can then be withdrawn but not hidden.
    """
    return await _changed(
        here, caller, repeat, rating_id, lambda c: registry.set_visibility(c, rating_id, caller.tenant, body.visibility)
    )


@router.post(
    "/{rating_id}/withdraw",
    response_model=RatingView,
    operation_id="withdrawRating",
    response_description="As it is now.",
)
async def withdraw_rating(
    rating_id: str,
    body: Annotated[WithdrawalRequest, Body(openapi_examples=WITHDRAWALS)],
    here: Here,
    caller: Writer,
    repeat: Repeat,
) -> Response:
    """Withdraw a rating of yours. It stays readable under its address, marked with the reason.

    It is left out of lists and of `latest`, and answers no new request.
    """
    return await _changed(
        here, caller, repeat, rating_id, lambda c: registry.withdraw(c, rating_id, caller.tenant, body.reason)
    )


@router.get("/{rating_id}/difference", response_model=RatingDifferenceView, operation_id="differRatings")
async def differ_ratings(
    request: Request, rating: FoundRating, here: Here, caller: PublicReader, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """Say what changed from this rating to a later one, and whether the letter did.

    Two letters are called a change only where the posteriors of both say so; else they may be noise.
    """
    other = await found_rating(query.other, here, caller)
    headers = headers_of_both(rating, other)
    if none_match(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    try:
        found = difference(rating.document, other.document)
    except NotTheSameQuestion as error:
        told = {"parameter": "with", "detail": str(error), "code": error.code}
        raise Problem("bad-specification", str(error), errors=[told]) from None
    return json_response(found.as_json(), headers=headers)


async def _changed(
    here: Service, caller: Caller, repeat: Sent, rating_id: str, change: Callable[[Any], StoredRating | None]
) -> Response:
    def work(c: Any) -> Answer:
        rating = change(c)
        if rating is None:  # another's too, even one that all may read: what is not yours is not yours to change
            raise not_found("rating", rating_id)
        aside = beside(c, [rating], here.methodologies.next)[rating.id]
        place = {"Content-Location": f"{router.prefix}/{rating.id}"}
        return Answer(200, write_json(aside.shown_with(rating.shown)), place)

    answer = await here.database.write(once, repeat.by(caller), work)
    return answer.response()
