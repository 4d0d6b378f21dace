"""How alike two answers are, and whether the answers of one call came in the order of its questions.

The same question gets a slightly different vector or number from many services, depending on what
else shares the call: sums in single precision depend on their order. So answers are never compared
for equality but told apart by their distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import combinations, permutations
from typing import Any

import numpy as np

ROUNDING = 1e-4
"""Difference below which two answers are one answer, with another rounding."""

CLOSE = 1e-2
"""Difference up to which the answer in an array is still that of the question asked alone; half-precision
arithmetic makes differences of this size."""

MOST_COMPARED = 5
"""Answers of an array that are compared in every order: 120 of them."""

CLEARLY = 4
"""By how much another order must fit better than the asked one before it is said to be the order."""


class Order(Enum):
    """What is known of the order of the answers of one call."""

    KEPT = "kept"
    """Every answer is that of its own question, and another order would have been noticed."""
    CROSSED = "crossed"
    """Another order fits clearly better: answers belong to other questions."""
    CHANGED = "changed"
    """Answers differ from those the same questions get alone, in any order."""
    UNSEEN = "unseen"
    """The answers are too much alike to tell."""


def difference(one: Any, other: Any) -> float:
    """Measure how far apart two replies' values are, as a share of their size.

    Parameters
    ----------
    one, other : reply values of one kind
        Vectors, numbers, or classes as `workers.targets.parsing.answer_parsing.classified` reads them.

    Returns
    -------
    float
        Vectors and numbers: the length of their difference over the larger length; 1 for vectors of
        different lengths. Classes: the largest difference of a probability; without probabilities,
        0 for one label and 1 for two.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return _of_classes(one, other)
    first, second = np.atleast_1d(np.asarray(one, float)), np.atleast_1d(np.asarray(other, float))
    if first.shape != second.shape:
        return 1.0
    largest = max(np.abs(first).max(), np.abs(second).max())  # squares of large numbers could overflow
    if largest == 0:
        return 0.0
    first, second = first / largest, second / largest
    return float(np.linalg.norm(first - second) / max(np.linalg.norm(first), np.linalg.norm(second)))


def _of_classes(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    first, second = one.get("scores"), other.get("scores")
    if first and second:
        labels = first.keys() | second.keys()
        return float(max(abs(first.get(label, 0.0) - second.get(label, 0.0)) for label in labels))
    return float(one.get("label") != other.get("label") or bool(first) != bool(second))


def told_apart(answers: Sequence[Any]) -> bool:
    """Whether any two of some answers differ by more than rounding."""
    return any(difference(one, other) > ROUNDING for one, other in combinations(answers, 2))


def order_of(alone: Sequence[Any], together: Sequence[Any]) -> Order:
    """Compare the answers of questions asked alone with those of one call that carried them all.

    Parameters
    ----------
    alone, together : sequence of reply values
        At most `MOST_COMPARED`, in the order of the questions.
    """
    count = len(alone)
    apart = [[difference(own, said) for own in alone] for said in together]
    asked = sum(apart[place][place] for place in range(count))
    best = min(sum(apart[place][to] for place, to in enumerate(order)) for order in permutations(range(count)))
    if asked > CLEARLY * best + count * ROUNDING and best <= count * CLOSE:
        return Order.CROSSED
    worst = max((apart[place][place] for place in range(count)), default=0.0)
    if worst > CLOSE:
        return Order.CHANGED
    widest = max((difference(one, other) for one, other in combinations(alone, 2)), default=0.0)
    return Order.KEPT if widest > CLEARLY * worst + ROUNDING else Order.UNSEEN
