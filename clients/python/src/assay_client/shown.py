"""Ratings and badges that notebooks show: `dict` and `str` with a representation in HTML."""

from __future__ import annotations

import base64
from html import escape
from typing import cast

from assay_client.documents import Rating

OF_EVERY_RATING = frozenset({"letter", "declared", "method", "attribute", "target", "expires_at", "withdrawn"})
"""Fields by which an object of the API is a rating, in full or as a summary in a list."""


class ShownRating(dict[str, object]):
    """A rating: the JSON of the API, shown by notebooks as its letter, its probability and the reason."""

    def _repr_html_(self) -> str:
        rating = cast("Rating", self)  # or a `RatingSummary`, which lacks some fields and has a sentence
        letter, withdrawn, because = rating["letter"], rating["withdrawn"], rating.get("because")
        probability = (rating.get("probabilities") or {}).get(letter or "")
        # an estimate from draws is never certain
        certainty = ">0.9999" if probability is not None and probability > 0.9999 else f"{probability or 0.0:.4g}"
        facts = [
            "" if rating["declared"] else "not declared",
            "" if probability is None else f"probability {certainty}",
            f"{rating['method']}, {rating['attribute']}",
            f"withdrawn: {withdrawn['reason']}" if withdrawn else f"valid until {rating['expires_at'][:10]}",
        ]
        explanation = because["text"] if because else self.get("sentence") or self.get("in_words") or ""
        return (
            f"<div><b>{escape(letter or 'no letter')}</b> <bdi>{escape(rating['target']['name'])}</bdi> · "
            f"{escape(' · '.join(filter(None, facts)))}<p>{escape(str(explanation))}</p></div>"
        )


class ShownImage(str):
    """An SVG image as text, shown by notebooks as an image: scripts in it, if any, do not run."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<img alt="" src="data:image/svg+xml;base64,{base64.b64encode(self.encode()).decode()}">'


def displayable(document: dict[str, object]) -> dict[str, object]:
    """Return an object of an answer, as a `ShownRating` if it is a rating."""
    return ShownRating(document) if document.keys() >= OF_EVERY_RATING else document
