"""Schemas of the replies of rated services' owners, and of the answers to them."""

from typing import Annotated, Literal, Self

from pydantic import Field

from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel, Url
from store.ratings.replies import OwnersReply

MAX_REPLY = 5_000


class ReplyRequest(RequestModel):
    """A reply to a rating of your service."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_REPLY)]
    """Plain text, shown unchanged with the rating."""
    link: Url | None = None
    """Address with more information."""
    objects: bool = False
    """Whether you object to the rating. Badges and look-ups then say so; the letter stays as it is."""


class AnswerRequest(RequestModel):
    """An answer to the reply of a rated service's owner."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_REPLY)]
    """Plain text, shown unchanged below the reply."""


class AnswerView(ResponseModel):
    """Public answer to the reply of the rated service's owner."""

    text: str
    by: Literal["requester", "operator"]
    """`requester`: the tenant that requested the rating. `operator`: the agency itself."""
    created_at: Instant


class ReplyView(ResponseModel):
    """Reply of the rated service's owner. It is not part of the rating and does not change it."""

    text: str
    link: str | None
    host: str
    """The host that the owner has verified."""
    created_at: Instant
    objects: bool
    """Whether the owner objects to the rating."""
    answer: AnswerView | None
    """Answer of the tenant that requested the rating, or of the agency's operator."""

    @classmethod
    def of(cls, reply: OwnersReply) -> Self:
        """Build the view of a reply."""
        answer = {"text": reply.answer, "by": reply.answered_by, "created_at": reply.answered_at}
        return cls.from_row(reply, answer=None if reply.answer is None else answer)
