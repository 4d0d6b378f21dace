"""Table of the letters of two or more services, a row for each component, as table 1 of Srivastava & Rossi (2018)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from assay.document import ComponentDocument, Json, RatingDocument
from assay.errors import SpecificationError
from assay.model import Letter
from assay.rating.decision import DEFAULT_CONFIDENCE, JointLetter, PartLetter, join_letters

ALIKE = ("method", "attribute")
"""Fields of a rating that must be equal in all ratings of one table."""


def side_by_side_document(
    ratings: Sequence[RatingDocument], without: Collection[str] = (), aggregation: Literal["worst", "vote"] = "worst"
) -> Json:
    """Return a table of the letters of two or more services.

    Parameters
    ----------
    ratings : sequence of RatingDocument
        Ratings of one method and one attribute, a column each.
    without : collection of str
        Names of parts (components), such as languages, that are left out of a second overall letter.
    aggregation : {"worst", "vote"}
        Rule that combines the letters of the parts to an overall letter, instead of the ratings' own rules.

    Returns
    -------
    dict
        ``method`` and ``attribute``; ``aggregation``; ``services`` (a column each: id and name); ``rows`` with the
        ``part`` and a cell for each service; ``overall`` and, if parts are left out, ``without`` with ``parts``
        and ``overall``. A cell has ``letter`` and ``declared``; it is ``None`` if a service has no such part.

    Raises
    ------
    SpecificationError
        If there are fewer than two ratings, their methods or attributes differ, a rating has no parts, or no
        rating has a part that is named in `without`.
    """
    if len(ratings) < 2:
        raise SpecificationError("at least two ratings are needed to show services side by side")
    for field in ALIKE:
        if len(values := {str(getattr(rating, field)) for rating in ratings}) > 1:
            raise SpecificationError(f"the ratings are of different {field}s: {', '.join(sorted(values))}")
    columns = [_parts_by_name(rating) for rating in ratings]
    names = list(dict.fromkeys(name for column in columns for name in column))
    if unknown_names := [name for name in without if name not in names]:
        raise SpecificationError(f"no rating has a part {', '.join(unknown_names)}; there are {', '.join(names)}")
    confidences = [rating.confidence or DEFAULT_CONFIDENCE for rating in ratings]
    included_columns = [{name: part for name, part in column.items() if name not in without} for column in columns]
    return {
        **{field: getattr(ratings[0], field) for field in ALIKE},
        "aggregation": aggregation,
        "services": [{"id": rating.id, "name": _service_name(rating)} for rating in ratings],
        "rows": [{"part": name, "cells": [_cell(column.get(name)) for column in columns]} for name in names],
        "overall": _overall_letters(columns, confidences, aggregation),
        "without": {"parts": sorted(without), "overall": _overall_letters(included_columns, confidences, aggregation)}
        if without
        else None,
    }


def _parts_by_name(rating: RatingDocument) -> dict[str, ComponentDocument]:
    if not rating.components:
        raise SpecificationError(f"{_service_name(rating)} is not a complete rating: it has no 'components'")
    if any(part.probabilities and set(Letter) - part.probabilities.keys() for part in rating.components):
        raise SpecificationError(f"{_service_name(rating)} is not a complete rating: a part lacks a probability")
    return {part.name or "": part for part in rating.components}


def _cell(part: ComponentDocument | JointLetter | None) -> Json | None:
    return None if part is None else {"letter": part.letter, "declared": part.declared}


def _service_name(rating: RatingDocument) -> str:
    return rating.target.name or f"the rating {rating.id or 'without an id'}"


def _overall_letters(
    columns: Sequence[Mapping[str, ComponentDocument]], confidences: Sequence[float], aggregation: str
) -> list[Json | None]:
    """Return a cell with the overall letter of each service, given its parts (`columns`); ``None`` without a letter."""
    return [
        _cell(join_letters([*map(PartLetter.of, column.values())], confidence, aggregation))
        for column, confidence in zip(columns, confidences, strict=True)
    ]
