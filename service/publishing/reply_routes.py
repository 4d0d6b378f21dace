"""``/v1/ratings/{id}/reply``: the reply of the rated service's owner."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response

from service.dependencies import Here
from service.domains.schemas import ReplyRequest, ReplyView
from service.http.authentication import TargetWriter
from service.http.conditional import entity_tag, not_modified
from service.http.json import StrictRoute, json_response
from service.http.openapi.examples import REPLIES
from service.http.problems import Problem, removed
from service.ratings.annotations import Annotations
from service.ratings.routes import FoundRating, found_rating
from store.ratings import replies
from store.ratings.replies import OwnersReply

router = APIRouter(prefix="/v1/ratings/{rating_id}/reply", tags=["replies"], route_class=StrictRoute)


@router.get("", response_model=ReplyView)
async def get_reply(request: Request, rating: FoundRating, here: Here) -> Response:
    """Read the reply to a rating; 404 if there is none."""
    reply = await here.database.read(replies.find, rating.id)
    if reply is None:
        raise Problem("not-found", f"there is no reply to {rating.id}")
    headers = {"ETag": _etag(reply), "Cache-Control": "private, no-cache"}
    return not_modified(request, headers) or json_response(ReplyView.from_row(reply), headers=headers)


@router.put("", response_model=ReplyView, response_description="Stored.")
async def put_reply(
    rating_id: str, body: Annotated[ReplyRequest, Body(openapi_examples=REPLIES)], here: Here, caller: TargetWriter
) -> Response:
    """Reply to a rating of a service at a host that you have verified, whoever requested the rating.

    The reply is shown with the rating and does not change it. A new reply replaces the old one. The first answers 201.
    """
    rating = await found_rating(rating_id, here, caller)
    reply, new = await here.database.write(replies.put, rating, caller.tenant, body.text, body.link)
    headers = {"Location": f"/v1/ratings/{rating.id}/reply"} if new else {}
    return json_response(
        ReplyView.from_row(reply), status=201 if new else 200, headers={"ETag": _etag(reply), **headers}
    )


@router.delete("", status_code=204, response_description="Removed.")
async def remove_reply(rating_id: str, here: Here, caller: TargetWriter) -> Response:
    """Remove your reply."""
    return removed(
        await here.database.write(replies.remove, rating_id, caller.tenant), "reply of yours to the rating", rating_id
    )


def _etag(reply: OwnersReply) -> str:
    return entity_tag(reply.rating_id + Annotations(reply=reply).tag)
