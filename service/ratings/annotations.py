"""Annotations of a rating: a preview of the next methodology, its standing for its address, and the owner's reply.

Annotations are not part of the stored document, which never changes. They are read when a rating is shown; for a page
of ratings, each kind of annotation takes one query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.rating.methodology import Methodology
from reports.reading import in_words
from service.domains.schemas import ReplyView
from store.ratings import replies, rerated
from store.ratings.ratings import StoredRating
from store.ratings.replies import OwnersReply
from store.ratings.standing import Standing, standings


@dataclass(frozen=True)
class Annotations:
    """Annotations of one rating: its standing, the letter by the announced methodology, and the owner's reply.

    `next_letter` is ``None`` if the evidence was not re-rated by `next_version`.
    """

    standing: Standing
    next_version: str | None = None
    next_letter: str | None = None
    reply: OwnersReply | None = None

    def added_to(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rating's document with the annotations and its paragraph in plain words."""
        reply = None if self.reply is None else ReplyView.of(self.reply).model_dump()
        preview = {"version": self.next_version, "letter": self.next_letter}
        words = " ".join(in_words(document))
        summary = {"in_words": words, "questions": (document.get("counts") or {}).get("asked", document.get("calls"))}
        return {**document, "next_methodology": preview, "standing": vars(self.standing), "reply": reply, **summary}

    @property
    def tag(self) -> str:
        """Part of the entity tag for the annotations."""
        return "-" + hashlib.sha256(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def read_annotations(c: Any, ratings: Sequence[StoredRating], announced: Methodology | None) -> dict[str, Annotations]:
    """Read the annotations of several ratings, by their ids."""
    ids = [rating.id for rating in ratings]
    version = None if announced is None else announced.version
    letters = {} if version is None else rerated.letters(c, ids, version)
    owners_replies, standing = replies.of_ratings(c, ids), standings(c, ratings)
    return {
        rating_id: Annotations(standing[rating_id], version, letters.get(rating_id), owners_replies.get(rating_id))
        for rating_id in ids
    }
