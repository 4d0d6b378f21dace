"""Reading one answer: a number, a vector or a class out of the JSON in which services write them.

Strict where a mistake would pass for evidence: a truth value is no number, text is no number, and
what is not finite is nothing at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

MOST_DIMENSIONS = 16_384
"""Numbers of a vector; no embedding has so many. Vectors are kept, so their size is bounded."""

MOST_LABELS = 1_000
"""Labels of one answer."""

LONGEST_LABEL = 200
"""Characters of a label."""

ROUNDING = 1e-6
"""By how much a probability may miss [0, 1]: single-precision arithmetic does."""

Classified = dict[str, Any]
"""What a classification is kept as: ``{"label": str or None, "scores": {label: probability} or None}``."""


class Misread(ValueError):
    """An answer is not of the form it should have; the message says what was seen and what was due."""


def seen(value: Any) -> str:
    """Name what an answer holds without repeating texts, which may be long or secret."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{float_or_infinity(value):g}"
        case str():
            return "a text"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def float_or_infinity(value: float) -> float:
    """Make a float of a number, of an integer beyond all floats too."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number_of(said: Any) -> float:
    """Read a finite number; a list of one number is that number.

    Raises
    ------
    Misread
        For anything else: text, null, truth values, infinity, longer lists.
    """
    said = unwrapped(said)
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    if isinstance(said, bool) or not isinstance(said, int | float):
        raise Misread(f"gave {seen(said)} where a number is due")
    number = float_or_infinity(said)
    if not math.isfinite(number):
        raise Misread("gave a number that is not finite")
    return number


def vector_of(said: Any) -> list[float]:
    """Read a vector of finite numbers; a list that holds one vector is that vector.

    Raises
    ------
    Misread
        If it is none, empty, or longer than `MOST_DIMENSIONS`.
    """
    said = unwrapped(said)
    if not isinstance(said, list) or not said:
        raise Misread(f"gave {seen(said)} where a vector is due")
    if len(said) > MOST_DIMENSIONS:
        raise Misread(f"gave a vector of {len(said):,} numbers; at most {MOST_DIMENSIONS:,} are taken")
    vector = []
    for one in said:
        if type(one) is not float and (isinstance(one, bool) or not isinstance(one, int)):
            raise Misread(f"gave {seen(one)} where a number of a vector is due")
        vector.append(float_or_infinity(one))
    if not all(map(math.isfinite, vector)):
        raise Misread("gave a vector with a number that is not finite")
    return vector


def classified(said: Any, labels: Sequence[str] = ()) -> Classified:
    """Read a class: a label, the probabilities of labels, or both.

    Services write it in many ways, all of which are read: ``"positive"``; ``1``, the place of a
    label or its name; ``[0.1, 0.9]`` and ``[0.9]``, probabilities in the order of `labels` or of the
    second of two; ``[{"label": …, "score": …}, …]``; ``{"labels": […], "scores": […]}``; ``{"negative": 0.1,
    "positive": 0.9}``; ``{"label": …, "scores": …}``. A single ``{"label": …, "score": …}`` is a label:
    its score says nothing about the other labels.

    Parameters
    ----------
    said : JSON value
        The answer.
    labels : sequence of str
        All labels in their order; empty if only the service knows them.

    Raises
    ------
    Misread
        If it is none of these, if a probability is not in [0, 1], or if the labels are not those declared.
    """
    label, scores = _class_of(said, labels)
    if label is None and scores is None:
        raise Misread("gave neither a label nor probabilities")
    for name in (label, *(scores or ())):
        _check_label(name, labels)
    if scores is not None:
        scores = _checked(scores, labels)
    return {"label": label, "scores": scores}


def _class_of(said: Any, labels: Sequence[str]) -> tuple[str | None, dict[str, Any] | None]:
    """Tell a label from probabilities, and from both."""
    said = unwrapped(said)
    match said:
        case {"labels": list(names), "scores": list(scores)} if len(names) == len(scores):
            return None, _named(list(zip(names, scores, strict=True)))
        case {"label": label, **rest} if rest.keys() <= {"score", "scores"}:
            scores = rest.get("scores")
            return (None if label is None else _label_of(label, labels)), (
                None if scores is None else _scores_of(scores, labels)
            )
        case {"scores": scores, **rest} if not rest:
            return None, _scores_of(scores, labels)
        case list() | dict():
            return None, _scores_of(said, labels)
        case _:
            return _label_of(said, labels), None


def _scores_of(said: Any, labels: Sequence[str]) -> dict[str, Any]:
    """Read the scores of labels, not yet checked, out of a list of objects, a row or an object."""
    said = unwrapped(said)
    match said:
        case [dict(), *_]:
            return _named([_pair_of(each) for each in said])
        case list():
            return _named(list(zip(_columns(said, labels), _completed(said, labels), strict=True)))
        case dict():
            return dict(said)
        case _:
            raise Misread(f"gave {seen(said)} where probabilities are due")


def _label_of(said: Any, labels: Sequence[str]) -> str:
    """Read a label, or name the class that a service knows by a number."""
    if isinstance(said, str):
        return said
    if isinstance(said, bool) or not isinstance(said, int | float):
        raise Misread(f"gave {seen(said)} where a label is due")
    number = float_or_infinity(said)
    if not number.is_integer():
        raise Misread(f"gave {seen(said)} where a label is due; probabilities come as a list, in the order of labels")
    place = int(number)
    if not labels or str(place) in labels:
        return str(place)
    if not 0 <= place < len(labels):
        raise Misread(f"gave {seen(said)} as the number of a label, and {len(labels)} labels are declared")
    return labels[place]


def _columns(row: list[Any], labels: Sequence[str]) -> Sequence[str]:
    """Name the columns of a row of probabilities."""
    if not labels:
        raise Misread(f"gave {seen(row)} without names; settings.labels must name them in their order")
    if len(row) != len(labels) and (len(row), len(labels)) != (1, 2):
        raise Misread(f"gave {len(row)} probabilities, and {len(labels)} labels are declared")
    return labels


def _completed(row: list[Any], labels: Sequence[str]) -> list[Any]:
    """Complete a row that holds the probability of the second of two labels alone."""
    if (len(row), len(labels)) != (1, 2):
        return row
    second = number_of(row)
    return [1 - second, second]


def _pair_of(each: Any) -> tuple[Any, Any]:
    if not isinstance(each, Mapping) or not {"label", "score"} <= each.keys():
        raise Misread(f"gave {seen(each)} where a label with its score is due")
    return each["label"], each["score"]


def _named(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    scores: dict[str, Any] = {}
    for label, score in pairs:
        if not isinstance(label, str):
            raise Misread(f"gave {seen(label)} where a label is due")
        if label in scores:
            raise Misread("gave one label twice")
        scores[label] = score
    return scores


def _check_label(label: str | None, labels: Sequence[str]) -> None:
    if label is None:
        return
    if not label or len(label) > LONGEST_LABEL:
        raise Misread(f"gave a label of {len(label)} characters; 1 to {LONGEST_LABEL} are taken")
    if labels and label not in labels:
        raise Misread("gave a label that is not declared in settings.labels")


def _checked(scores: Mapping[str, Any], labels: Sequence[str]) -> dict[str, float]:
    """Make sure that scores are probabilities, of all labels if these are declared."""
    if not 0 < len(scores) <= MOST_LABELS:
        raise Misread(f"gave the scores of {len(scores):,} labels; 1 to {MOST_LABELS:,} are taken")
    if labels and len(scores) != len(labels):
        raise Misread(f"gave the scores of {len(scores)} labels, and {len(labels)} are declared")
    return {label: _probability(scores[label]) for label in labels or scores}


def _probability(said: Any) -> float:
    if isinstance(said, list):
        raise Misread(f"gave {seen(said)} where a probability is due")
    number = number_of(said)
    if not -ROUNDING <= number <= 1 + ROUNDING:
        raise Misread(f"gave {number:g} where a probability is due; raw scores (logits) are not taken")
    return min(1.0, max(0.0, number))


def unwrapped(said: Any) -> Any:
    """Take off the list around a single list or a single object's list: ``[[1, 2]]`` is ``[1, 2]``."""
    while isinstance(said, list) and len(said) == 1 and isinstance(said[0], list):
        said = said[0]
    return said
