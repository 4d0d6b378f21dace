"""Parsing of one answer: a number, a vector or a class, from the JSON forms that services use.

Parsing is strict where a mistake could become evidence: a truth value or a text is no number, and infinite
numbers are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any, ClassVar

from assay.model import Failure, Reply

MOST_DIMENSIONS = 16_384
"""Maximum number of dimensions of a vector; vectors are stored, so their size is limited."""

MOST_LABELS = 1_000
"""Maximum number of labels in an answer."""

LONGEST_LABEL = 200
"""Maximum length of a label in characters."""

ROUNDING = 1e-6
"""Tolerance for probabilities outside [0, 1], which occur with single-precision arithmetic."""

Classified = dict[str, Any]
"""Stored form of a classification: ``{"label": str or None, "scores": {label: probability} or None}``."""


class Misread(ValueError):
    """Malformed answer; the message says what was received and what was expected."""

    code: ClassVar[str] = "wrong-shape"


def reply_of(parse: Callable[[], Any], place: str) -> Reply:
    """Return the parsed value as a reply; a `Misread` becomes a failure with its code."""
    try:
        return Reply(parse())
    except Misread as wrong:
        return Reply(failure=Failure(wrong.code, f"{place} {wrong}"))


def seen(value: Any) -> str:
    """Describe a JSON value without repeating texts, which may be long or secret."""
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
    """Convert a number to a float; an integer too large for a float becomes infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number_of(said: Any) -> float:
    """Parse a finite number, or a list with one number; raise `Misread` for anything else."""
    said = unwrapped(said)
    return finite(said[0] if isinstance(said, list) and len(said) == 1 else said, "number")


def finite(said: Any, noun: str) -> float:
    """Parse a finite number, called `noun` in messages; raise `Misread` for anything else."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        raise Misread(f"gave {seen(said)} where a {noun} is due")
    number = float_or_infinity(said)
    if not math.isfinite(number):
        raise Misread(f"gave a {noun} that is not finite")
    return number


def vector_of(said: Any) -> list[float]:
    """Parse a vector of finite numbers, or a list with one vector; raise `Misread` for anything else."""
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
    """Parse a classification: a label, the probabilities of labels, or both.

    These forms are accepted: ``"positive"``; ``1``, the index of a label or its name; ``[0.1, 0.9]``,
    probabilities in the order of `labels`; ``[0.9]``, the probability of the second of two; ``[{"label": …,
    "score": …}, …]``; ``{"labels": […], "scores": […]}``; ``{"negative": 0.1, "positive": 0.9}``;
    ``{"label": …, "scores": …}``. A single ``{"label": …, "score": …}`` counts as a label without probabilities.

    Parameters
    ----------
    said : JSON value
    labels : sequence of str
        All labels in their order; empty if they are not declared.

    Raises
    ------
    Misread
        If the form is unknown, a probability is outside [0, 1], or a label is not declared.
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
    """Return the label and the scores of an answer; each may be ``None``."""
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
    """Parse the scores of labels, not yet validated, from a list of objects, a row or an object."""
    said = unwrapped(said)
    match said:
        case [dict(), *_]:
            return _named([_pair_of(each) for each in said])
        case list():
            return _named(list(zip(labels, _completed(said, labels), strict=True)))
        case dict():
            return dict(said)
        case _:
            raise Misread(f"gave {seen(said)} where probabilities are due")


def _label_of(said: Any, labels: Sequence[str]) -> str:
    """Parse a label, or the index of a label."""
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


def _completed(row: list[Any], labels: Sequence[str]) -> list[Any]:
    """Return one probability per label; for two labels, a row may hold only the probability of the second."""
    if not labels:
        raise Misread(f"gave {seen(row)} without names; settings.labels must name them in their order")
    if (len(row), len(labels)) == (1, 2):
        second = number_of(row)
        return [1 - second, second]
    if len(row) != len(labels):
        raise Misread(f"gave {len(row)} probabilities, and {len(labels)} labels are declared")
    return row


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
    """Return validated probabilities, in the order of the declared labels if there are any."""
    if not 0 < len(scores) <= MOST_LABELS:
        raise Misread(f"gave the scores of {len(scores):,} labels; 1 to {MOST_LABELS:,} are taken")
    if labels and len(scores) != len(labels):
        raise Misread(f"gave the scores of {len(scores)} labels, and {len(labels)} are declared")
    # interned, because thousands of replies hold the same labels
    return {intern(label): _probability(scores[label]) for label in labels or scores}


def _probability(said: Any) -> float:
    if isinstance(said, list):
        raise Misread(f"gave {seen(said)} where a probability is due")
    return probability(said, "; raw scores (logits) are not taken")


def probability(said: Any, advice: str = "") -> float:
    """Parse a probability; raise `Misread`, with `advice`, for a number outside [0, 1]."""
    number = number_of(said)
    if not -ROUNDING <= number <= 1 + ROUNDING:
        raise Misread(f"gave {number:g} where a probability is due{advice}")
    return min(1.0, max(0.0, number))


def unwrapped(said: Any) -> Any:
    """Remove lists around a single list: ``[[1, 2]]`` becomes ``[1, 2]``."""
    while isinstance(said, list) and len(said) == 1 and isinstance(said[0], list):
        said = said[0]
    return said
