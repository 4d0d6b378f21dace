"""CSV table of a stereotype score's sentences: one row per pair, with the model's preference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from starlette.responses import Response

from assay.document import RatingDocument
from assay.methods.stereotype_score.detail import StereotypeComponent
from service.http.problems import Problem
from service.jobs.observation_stream import csv_lines, inert
from store.ratings.ratings import StoredRating

COLUMNS = (
    *("component", "id", "term", "list", "first", "second", "first_score", "second_score", "words"),
    *("prefers", "towards", "source"),
)
"""Columns of the table. `towards` is 1 if the stereotype was preferred, 0 if the counterpart was, 0.5 for a tie."""


def sentence_table(rating: StoredRating, headers: Mapping[str, str]) -> Response:
    """Return the table of a rating's sentences as a response; raise ``not-found`` if it has no sentences."""
    rows = list(_rows(rating.rating))
    if not rows:
        raise Problem(
            "not-found", f"the rating {rating.id} compared no sentences; those by stereotype-score do, with replies"
        )
    disposition = {"Content-Disposition": f'attachment; filename="{rating.id}-sentences.csv"'}
    return Response(
        csv_lines([COLUMNS, *rows]), headers={**headers, **disposition}, media_type="text/csv; charset=utf-8"
    )


def _rows(rating: RatingDocument) -> Iterator[list[object]]:
    for component in rating.components:
        for row in component.sentences if isinstance(component, StereotypeComponent) else ():
            cells = [component.name if name == "component" else getattr(row, name) for name in COLUMNS]
            yield [inert(cell) if isinstance(cell, str) else cell for cell in cells]
