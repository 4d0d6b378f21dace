"""Ratings of a model's decision by the mention of people: in words and by first names, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.document import EffectDocument, JsonObject, RatingDocument
from assay.methods import rating_of
from web.frame import Visit, segment
from web.ratings.rating import Rating

MOST_READ = 8
"""Maximum number of other ratings of the same service that are read."""

MENTIONS = {"explicit": "in words", "name": "by first names"}
"""Ways to mention a person's group (`texts.mention` of an experiment), in words."""


async def both_mentions(visit: Visit, rating: Rating) -> list[JsonObject]:
    """Return rows for this rating and the newest one of the same decision with the other mention, if there is one.

    `effects` has the effect of the attribute by component, `ratios` the lowest impact ratio by component.
    """
    cases = _decision_and_mention(rating.document)
    if cases is None:
        return []
    candidates = [
        row
        for row in rating.others
        if row["id"] != rating.id and all(row[name] == rating.document[name] for name in ("method", "attribute"))
    ]
    for row in candidates[:MOST_READ]:
        other_cases = _decision_and_mention(document := await visit.api.get(f"/v1/ratings/{segment(row['id'])}"))
        if other_cases is not None and other_cases[0] == cases[0] and other_cases[1] != cases[1]:
            pair = [_mention_row(cases[1], rating.rated), _mention_row(other_cases[1], rating_of(document))]
            return sorted(pair, key=lambda row: list(MENTIONS.values()).index(row["mention"]))
    return []


def _decision_and_mention(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name of a rating's decision, and its mention of people; ``None`` if it rates no decision."""
    texts = (document.get("experiment") or {}).get("texts") or {}
    return (texts["decision"], texts.get("mention") or "explicit") if texts.get("decision") else None


def _mention_row(mention: str, rated: RatingDocument) -> JsonObject:
    effects, ratios = [], []
    for part in rated.components:
        effects.append((part.name or "", part.effects.get("step_1") or EffectDocument()))
        impact = getattr(part, "disparate_impact", None)
        measured = [row.ratio for row in (impact.ratios if impact else ()) if row.ratio.estimate is not None]
        ratios += [(part.name or "", min(measured, key=lambda ratio: ratio.estimate))] if measured else []
    return {"mention": MENTIONS[mention], "rated": rated, "effects": effects, "ratios": ratios}
