"""``/v1/ratings/{id}/reply``: the reply of the rated service's owner, and the answer to it."""

from typing import Annotated

from fastapi import APIRouter, Response

from assay.canonical import digest_of
from service.container import ServiceDependency
from service.http.authentication import TargetWriter, Writer
from service.http.conditional import entity_tag
from service.http.json import StrictRoute, json_response, tagged
from service.http.openapi.responses import TAGGED
from service.http.problems import Problem, not_found, removed
from service.http.rows import in_path
from service.ratings.routes import FoundRating
from service.replies.schemas import AnswerRequest, ReplyRequest, ReplyView
from store.ratings import ratings, replies
from store.ratings.ratings import StoredRating
from store.ratings.replies import OwnersReply
from store.security.rights import OPERATOR_TENANT

router = APIRouter(prefix="/v1/ratings/{rating_id}/reply", tags=["replies"], route_class=StrictRoute)


@router.get("", response_model=ReplyView, responses=TAGGED)
async def get_reply(rating: FoundRating, service: ServiceDependency) -> Response:
    """Read the reply to a rating; 404 if there is none."""
    reply = await service.database.read(replies.find, rating.id)
    if reply is None:
        raise Problem("not-found", f"there is no reply to {rating.id}")
    return tagged(ReplyView.of(reply), _etag(reply))


@router.put(
    "",
    response_model=ReplyView,
    response_description="Stored.",
    responses=TAGGED | {201: {"model": ReplyView, "description": "The first reply was stored."}},
)
async def put_reply(
    rating: Annotated[StoredRating, in_path("rating", ratings.find, TargetWriter)],
    body: ReplyRequest,
    service: ServiceDependency,
    caller: TargetWriter,
) -> Response:
    """Reply to a rating of a service at a host that you have verified, whoever requested the rating.

    The reply is shown with the rating and does not change it, even if it `objects` to the rating. A new reply replaces
    the old one. The first answers 201.
    """
    reply, is_new = await service.database.write(
        replies.put, rating, caller.tenant, body.text, body.link, objects=body.objects
    )
    headers = {"Location": f"/v1/ratings/{rating.id}/reply"} if is_new else {}
    return json_response(ReplyView.of(reply), status=201 if is_new else 200, headers={"ETag": _etag(reply), **headers})


@router.delete("", status_code=204, response_description="Removed.")
async def remove_reply(rating_id: str, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Remove your reply."""
    was_removed = await service.database.write(replies.remove, rating_id, caller.tenant)
    return removed(was_removed, "reply of yours to the rating", rating_id)


@router.put("/answer", response_model=ReplyView, response_description="The reply with the answer.", responses=TAGGED)
async def answer_reply(
    rating: Annotated[StoredRating, in_path("rating", ratings.find, Writer)],
    body: AnswerRequest,
    service: ServiceDependency,
    caller: Writer,
) -> Response:
    """Answer the owner's reply in public, if you requested the rating or are the agency's operator.

    A new answer replaces the old one, except that the operator's answer stays.
    """
    if caller.tenant not in {rating.tenant, OPERATOR_TENANT}:  # to other tenants, it cannot be changed
        raise not_found("rating", rating.id)
    reply = await service.database.write(replies.answer, rating, caller.tenant, body.text)
    if reply is None:
        raise Problem("not-found", f"there is no reply to {rating.id}")
    return tagged(ReplyView.of(reply), _etag(reply))


def _etag(reply: OwnersReply) -> str:
    return entity_tag(reply.rating_id, digest_of(ReplyView.of(reply).model_dump())[-12:])
