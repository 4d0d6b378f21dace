"""Sample questions for the examination of a classifier, regressor or embedder.

They come from the experiment; if there is none, from the target's settings; otherwise they are neutral texts. There
are no built-in records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from assay.model import Ask, Kind
from workers.targets.adapter import QUESTIONS, Adapter, Prediction, Target

Q = TypeVar("Q", bound=Ask)

WORDS = ("house", "river", "music", "winter", "bread")
"""Samples for embedders."""

SENTENCES = (
    "The meal was cold and came an hour late.",
    "This is the best day of the whole year.",
    "The train leaves at noon.",
    "Nobody answered the telephone.",
    "The new bridge is open, and everyone likes it.",
)
"""Samples for classifiers and regressors: positive, negative and neutral, about no group of people."""

HINT = (
    "it was tried with texts of ours, without an experiment; if it takes records or other texts, write some into "
    "settings.samples, or ask for a rating, which examines it with its own"
)


@dataclass(frozen=True, slots=True)
class Samples:
    """Questions for an examination; `ours` is true for built-in texts, which the service may not support."""

    questions: tuple[Prediction, ...]
    ours: bool = False


def samples_for(target: Target, asks: Sequence[Ask] = ()) -> Samples:
    """Return the questions for the examination of a target; `asks` are the experiment's first questions, if any."""
    question: Any = QUESTIONS[target.kind][0]
    if asks:
        return Samples(tuple(cast("Sequence[Prediction]", asks)))
    if samples := target.settings.get("samples"):
        return Samples(
            tuple(question(sample if isinstance(sample, str) else tuple(sample.items())) for sample in samples)
        )
    texts = WORDS if target.kind is Kind.EMBEDDER else SENTENCES
    return Samples(tuple(question(text) for text in texts), ours=True)


def spread(questions: Sequence[Q], adapter: Adapter, count: int) -> list[Q]:
    """Choose different questions of the commonest form, at equal distances, since neighbours are often alike."""
    groups: dict[object, list[Q]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(adapter.group_key(question), []).append(question)
    largest = max(groups.values(), key=len, default=[])
    if len(largest) <= count:
        return largest
    return [largest[index * (len(largest) - 1) // (count - 1)] for index in range(count)]
