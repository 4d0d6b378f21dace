"""What a classifier, regressor or embedder is asked while it is examined.

Best are questions of the experiment itself: they have the form that matters. Without an experiment
there are those of the target's settings, and else some neutral texts; records are never invented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from assay.model import Ask, Kind, Record
from workers.targets.adapter import QUESTIONS, Adapter, Prediction, Target

Q = TypeVar("Q", bound=Ask)

WORDS = ("house", "river", "music", "winter", "bread")
"""Asked of embedders."""

SENTENCES = (
    "The meal was cold and came an hour late.",
    "This is the best day of the whole year.",
    "The train leaves at noon.",
    "Nobody answered the telephone.",
    "The new bridge is open, and everyone likes it.",
)
"""Asked of classifiers and regressors: good, bad and neither, about nobody."""

HINT = (
    "it was tried with texts of ours, without an experiment; if it takes records or other texts, write some into "
    "settings.samples, or ask for a rating, which examines it with its own"
)


@dataclass(frozen=True, slots=True)
class Samples:
    """Questions for an examination.

    Attributes
    ----------
    questions : tuple of Prediction
        In the order in which they were found.
    ours : bool
        Whether they are neutral texts of ours, which the service may not be made for.
    """

    questions: tuple[Prediction, ...]
    ours: bool = False


def samples_for(target: Target, asked: Sequence[Ask] = ()) -> Samples:
    """Find questions to examine a target with.

    Parameters
    ----------
    target : Target
        A classifier, regressor or embedder.
    asked : sequence of Ask
        The first questions of the experiment; empty where there is none.
    """
    question: Any = QUESTIONS[target.kind][0]
    if asked:
        return Samples(tuple(cast("Sequence[Prediction]", asked)))
    if written := target.settings.get("samples"):
        return Samples(tuple(question(_given(each)) for each in written))
    texts = WORDS if target.kind is Kind.EMBEDDER else SENTENCES
    return Samples(tuple(question(text) for text in texts), ours=True)


def _given(written: str | Mapping[str, Any]) -> str | Record:
    return written if isinstance(written, str) else tuple(written.items())


def spread(questions: Sequence[Q], adapter: Adapter, count: int) -> list[Q]:
    """Choose different questions that may share a call, far apart: neighbours are much alike.

    Of several forms the commonest is chosen.
    """
    groups: dict[object, list[Q]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(adapter.group_key(question), []).append(question)
    largest = max(groups.values(), key=len, default=[])
    if len(largest) <= count:
        return largest
    return [largest[place * (len(largest) - 1) // (count - 1)] for place in range(count)]
