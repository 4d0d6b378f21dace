"""Annotations of a rating: a preview of the next methodology, and the owner's reply.

Annotations are not part of the stored document, which never changes. They are read when a rating is shown; for a page
of ratings, each kind of annotation takes one query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.methods import method_of
from assay.rating.methodology import Methodology
from assay.reports.in_words import in_words
from service.domains.schemas import ReplyView
from store.ratings import replies, rerated
from store.ratings.ratings import StoredRating
from store.ratings.replies import OwnersReply


@dataclass(frozen=True)
class Annotations:
    """Annotations of one rating: the letter by the announced methodology, and the reply of the service's owner.

    `next_letter` is ``None`` if the evidence was not re-rated by `next_version`.
    """

    next_version: str | None = None
    next_letter: str | None = None
    reply: OwnersReply | None = None

    def added_to(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rating's document with the annotations and its paragraph in plain words."""
        reply = None if self.reply is None else ReplyView.from_row(self.reply).model_dump()
        preview = {"version": self.next_version, "letter": self.next_letter}
        words = " ".join(in_words(document, method_of(document)))
        beside = {"in_words": words, "questions": (document.get("counts") or {}).get("asked", document.get("calls"))}
        return {**document, "next_methodology": preview, "reply": reply, **beside}

    @property
    def tag(self) -> str:
        """Part of the entity tag for the annotations; empty without annotations."""
        if self == Annotations():
            return ""
        parts = (self.next_version, self.next_letter, self.reply and (self.reply.text, self.reply.link))
        at = self.reply and self.reply.created_at
        return "-" + hashlib.sha256(repr((parts, at)).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def read_annotations(c: Any, ratings: Sequence[StoredRating], announced: Methodology | None) -> dict[str, Annotations]:
    """Read the annotations of several ratings, by their ids."""
    ids = [rating.id for rating in ratings]
    version = None if announced is None else announced.version
    letters = {} if version is None else rerated.letters(c, ids, version)
    owners_replies = replies.of_ratings(c, ids)
    return {each: Annotations(version, letters.get(each), owners_replies.get(each)) for each in ids}
