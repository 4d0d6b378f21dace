"""Stamp: the letter in its punch, with its probability, methodology and year."""

from __future__ import annotations

from assay.explain import chance
from assay.reports import tables
from assay.reports.figures.canvas import Figure, clip, draw, hallmark, label, stroke
from assay.reports.markup import Markup, tag
from assay.reports.view import RatingView


def stamp(rating: RatingView, key: str) -> Figure:
    """Draw the hallmark: letter, probability, methodology and year.

    A hallmark on gold shows the fineness, the assay office and the year. This one shows the letter,
    its probability, the version of the methodology and the year.
    """
    verdict = rating.verdict
    probability = (
        None if verdict.probabilities is None or verdict.letter is None else verdict.probabilities[verdict.letter]
    )
    facts = [
        ("certainty", "–" if probability is None else chance(probability)),
        ("methodology", clip(rating.methodology or "–", 8)),
        ("year", (rating.rated_at or "–")[:4]),
    ]
    shapes: list[Markup] = [hallmark(verdict.letter, 2, 2, 206, 96, struck=verdict.declared, size=40)]
    for index, (name, text) in enumerate(facts):
        shapes += _line(index, name, text)
    return draw(
        key, tables.probabilities(verdict), f"{verdict.headline}.", 100, *shapes, title="Hallmark of this rating"
    )


def _line(index: int, name: str, text: str) -> list[Markup]:
    y = 4 + index * 33
    return [
        tag("g", label(232, y + 17, name, "s"), label(358, y + 17, text, "e b")),
        stroke("rule", (232, y + 27), (358, y + 27)) if index < 2 else Markup(),
    ]
