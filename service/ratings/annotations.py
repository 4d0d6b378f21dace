"""What stands beside a rating and is no part of it: a preview of the next methodology, the owner's reply.

The stored document never changes. These are read when it is shown, for a whole page of ratings in one
query each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.rating.methodology import Methodology
from service.domains.schemas import ReplyView
from store.ratings import replies, rerated
from store.ratings.ratings import StoredRating
from store.ratings.replies import OwnersReply


@dataclass(frozen=True)
class Beside:
    """What stands beside one rating.

    Attributes
    ----------
    next_version : str or None
        The version that is announced.
    next_letter : str or None
        What it says of the rating; ``None``, too, where nobody has computed that.
    reply : OwnersReply or None
        What the owner says.
    """

    next_version: str | None = None
    next_letter: str | None = None
    reply: OwnersReply | None = None

    def shown_with(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Put it beside a rating's document."""
        reply = None if self.reply is None else ReplyView.of(self.reply).model_dump()
        preview = {"version": self.next_version, "letter": self.next_letter}
        return {**document, "next_methodology": preview, "reply": reply}

    @property
    def tag(self) -> str:
        """Name it within an entity tag; empty where there is nothing beside the rating."""
        if self == Beside():
            return ""
        told = (self.next_version, self.next_letter, self.reply and (self.reply.text, self.reply.link))
        at = self.reply and self.reply.created_at
        return "-" + hashlib.sha256(repr((told, at)).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def beside(c: Any, ratings: Sequence[StoredRating], announced: Methodology | None) -> dict[str, Beside]:
    """Read what stands beside several ratings, by their ids."""
    ids = [rating.id for rating in ratings]
    version = None if announced is None else announced.version
    letters = {} if version is None else rerated.letters(c, ids, version)
    said = replies.of_ratings(c, ids)
    return {each: Beside(version, letters.get(each), said.get(each)) for each in ids}
