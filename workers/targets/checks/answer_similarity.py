"""Distance between answers, and detection of batches whose answers come in the wrong order.

Many services return slightly different numbers for a question, depending on the other questions of the call: sums
in single precision depend on the order of addition. So answers are compared by distance, never for equality.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import combinations, permutations
from typing import Any

import numpy as np

from assay.document import Json

ROUNDING = 1e-4
"""Maximum relative distance between two answers that differ by rounding only."""

CLOSE = 1e-2
"""Maximum relative distance between a question's answers in a batch and alone, as half precision can cause."""

MOST_COMPARED = 5
"""Maximum number of answers in a batch that are compared in every order (120 orders)."""

CLEAR_FACTOR = 4
"""Factor by which one order of the answers must fit better than the others to be recognised."""


class Order(Enum):
    """Result of the comparison of a batch of answers with the answers to the same questions alone."""

    KEPT = "kept"
    """The order is right, and a wrong order would have been detected."""
    CROSSED = "crossed"
    """The order is wrong: another order fits clearly better."""
    CHANGED = "changed"
    """The answers differ from those to the same questions asked alone, whatever their order."""
    UNSEEN = "unseen"
    """The answers are too similar to each other to detect their order."""


def difference(value: object, other_value: object) -> float:
    """Return the relative distance between two reply values of one kind.

    Vectors and numbers: the norm of their difference over the larger norm; 1 for vectors of different dimensions.
    Classes: the largest difference of a probability; without probabilities, 0 for equal labels and 1 for others.
    """
    if isinstance(value, Mapping) and isinstance(other_value, Mapping):
        return _class_distance(value, other_value)
    vector, other_vector = np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(other_value, float))
    if vector.shape != other_vector.shape:
        return 1.0
    # divided by the largest number, because squares of large numbers could overflow
    largest = max(np.abs(vector).max(), np.abs(other_vector).max())
    if largest == 0:
        return 0.0
    vector, other_vector = vector / largest, other_vector / largest
    return float(np.linalg.norm(vector - other_vector) / max(np.linalg.norm(vector), np.linalg.norm(other_vector)))


def _class_distance(answer: Json, other_answer: Json) -> float:
    """Return the distance of two classes (`difference`); 1 if only one of them has probabilities."""
    scores, other_scores = answer.get("scores"), other_answer.get("scores")
    if scores and other_scores:
        labels = scores.keys() | other_scores.keys()
        return float(max(abs(scores.get(label, 0.0) - other_scores.get(label, 0.0)) for label in labels))
    return float(answer.get("label") != other_answer.get("label") or bool(scores) != bool(other_scores))


def any_differ(answers: Sequence[Any]) -> bool:
    """Whether at least two of the answers differ by more than rounding."""
    return any(difference(first, second) > ROUNDING for first, second in combinations(answers, 2))


def order_of(alone: Sequence[Any], together: Sequence[Any]) -> Order:
    """Compare the order of the answers in one call (`together`) with that of the answers to the questions `alone`."""
    count = len(alone)
    distances = [[difference(single, joint) for single in alone] for joint in together]  # row: an answer in the call
    own_distances = [distances[index][index] for index in range(count)]
    orders = permutations(range(count))
    best_sum = min(sum(distances[row][column] for row, column in enumerate(order)) for order in orders)
    # another order fits clearly better than the given one, by more than rounding, and well enough to be the true one
    if sum(own_distances) > CLEAR_FACTOR * best_sum + count * ROUNDING and best_sum <= count * CLOSE:
        return Order.CROSSED
    largest_own_distance = max(own_distances, default=0.0)
    if largest_own_distance > CLOSE:
        return Order.CHANGED
    most_unlike = max((difference(answer, other) for answer, other in combinations(alone, 2)), default=0.0)
    return Order.KEPT if most_unlike > CLEAR_FACTOR * largest_own_distance + ROUNDING else Order.UNSEEN  # all alike
