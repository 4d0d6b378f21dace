"""Order in which the questions of a batch are sent: random, with the versions of one item far apart."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from assay.experiment import MOST_VERSIONS, questions_in_a_call
from assay.model import Integers, Probe

LEAST_APART = 50
"""Minimum number of calls between two versions of an item, where a batch has enough questions."""

SHRINKAGE = 0.93
"""Factor by which the distance between versions is reduced if no order with this distance was found."""

SWEEPS, TRIES = 10, 12
"""Passes over the misplaced questions for each distance; positions tried for each question in a pass."""

STALLED = 0.95
"""If a pass leaves more than this share of the misplaced questions misplaced, no further pass is made."""

Relatives = Mapping[int, tuple[int, ...]]
"""For each question whose items have other versions in the batch: the indices of these versions."""


class QuestionOrder:
    """Orders the batches of a job; the versions of an item (`Probe.versions_of`) are far apart over all batches.

    A service could otherwise recognise a test by two questions that differ only in the attribute. The version that is
    sent first is random. `rng` decides the order; the service must not know it, and the rating does not depend on it.
    `apart` is the desired number of calls between two versions; it is reduced for a batch with too few questions.
    """

    def __init__(self, rng: np.random.Generator, apart: int = LEAST_APART) -> None:
        self._rng, self._distance = rng, apart
        self._call_count = 0
        self._last_calls: dict[str, int] = {}
        """Number of the last call with a version of each item, counted over all batches."""

    def arrange(self, probes: Sequence[Probe], most_per_call: int = 1) -> tuple[list[Probe], int]:
        """Return the probes of a batch in the order of sending, and how many of them to send in one call.

        Versions of an item (questions that differ in the attribute only) never share a call, so they take several.
        """
        other_versions = _other_versions(probes)
        per_call = questions_in_a_call(probes, most_per_call)
        call_count = -(-len(probes) // max(1, per_call))  # rounded up
        positions = self._rng.permutation(len(probes))
        # distances in calls, from the largest until an order keeps them; a round has at most one version of an item
        for distance, distance_to_earlier, in_rounds in self._distances_to_try(call_count, other_versions):
            earliest_calls = np.array([self._earliest_call(probe, distance_to_earlier) for probe in probes])
            if in_rounds and other_versions:
                positions = _positions_in_rounds(other_versions, positions, earliest_calls)
            elif in_rounds:  # without versions in this batch, only earlier batches matter
                by_earliest_call = np.lexsort((positions, earliest_calls))  # at random among equal ones
                positions = np.argsort(by_earliest_call)  # inverse permutation: the position of each question
            if _swap_until_separate(positions, other_versions, earliest_calls.tolist(), distance, per_call, self._rng):
                break  # all versions are `distance` calls apart
        for probe, position in zip(probes, positions.tolist(), strict=True):
            for item_name in probe.versions_of:
                call = self._call_count + position // per_call
                self._last_calls[item_name] = max(self._last_calls.get(item_name, 0), call)
        self._call_count += call_count
        last_calls = self._last_calls.items()
        # calls farther back than the distance constrain no later batch
        self._last_calls = {name: call for name, call in last_calls if self._call_count - call < self._distance}
        return [probes[index] for index in np.argsort(positions)], per_call  # argsort: the index at each position

    def _earliest_call(self, probe: Probe, distance: int) -> int:
        """Return this batch's first call that is `distance` calls after earlier batches' versions of the same items."""
        earlier_calls = [self._last_calls[name] for name in probe.versions_of if name in self._last_calls]
        return max(0, max(earlier_calls) + distance - self._call_count) if earlier_calls else 0

    def _distances_to_try(self, call_count: int, other_versions: Relatives) -> Iterator[tuple[int, int, bool]]:
        """Yield distances to try between versions of an item, the largest first; none if every order is allowed.

        A tuple: calls between versions in this batch; calls since versions in earlier batches; whether to begin with an
        order in rounds (at most one version of an item in each). `call_count` is the number of calls of this batch.
        """
        if not other_versions and not self._last_calls:
            return
        # k + 1 versions of an item span k distances, which must fit into the batch; a pair (k = 1) spans half of it
        distance = min(self._distance, call_count // max(2, max(map(len, other_versions.values()), default=0)))
        if call_count > 2 * distance:  # in a larger batch, exchanges alone may separate a random order
            yield distance, self._distance, False
        scale = 1.0
        while int(scale * self._distance) > 0:
            yield max(1, int(scale * distance)), int(scale * self._distance), True
            scale *= SHRINKAGE


def _other_versions(probes: Sequence[Probe]) -> Relatives:
    """Map the index of each probe to the indices of the other versions of its items; leave out probes without any."""
    indices_by_item: dict[str, list[int]] = defaultdict(list)
    for index, probe in enumerate(probes):
        for item_name in probe.versions_of:
            indices_by_item[item_name].append(index)
    versions_by_index: dict[int, set[int]] = defaultdict(set)
    for indices in indices_by_item.values():
        if 1 < len(indices) <= MOST_VERSIONS:  # more cannot be kept apart, and may share a call
            for index in indices:
                versions_by_index[index].update(indices)
    return {index: tuple(versions - {index}) for index, versions in versions_by_index.items()}


def _positions_in_rounds(other_versions: Relatives, positions: Integers, earliest_calls: Integers) -> Integers:
    """Return new positions in rounds: each round has at most one version of an item, and orders the items alike.

    Only the first round differs: it begins with the lowest `earliest_calls`. Questions are named by their indices.
    """
    round_of: dict[int, int] = {}
    for first_index in np.argsort(positions).tolist():
        waiting = [first_index]
        while waiting:  # neighbours are visited one after another, so that they get neighbouring positions
            index = waiting.pop()
            if index not in round_of:
                versions = other_versions.get(index, ())
                taken_rounds = {round_of[version] for version in versions if version in round_of}
                round_of[index] = min(set(range(len(taken_rounds) + 1)) - taken_rounds)  # the lowest free round
                waiting += [version for version in versions if version not in round_of]
    # sorting is stable: questions with equal keys keep the order in which they were visited
    first_round = sorted((index for index in round_of if round_of[index] == 0), key=lambda index: earliest_calls[index])
    later_rounds = sorted((index for index in round_of if round_of[index] > 0), key=lambda index: round_of[index])
    return np.argsort(np.array([*first_round, *later_rounds]))  # inverse permutation


def _swap_until_separate(
    positions: Integers, versions: Relatives, earliest: list[int], gap: int, per_call: int, rng: np.random.Generator
) -> bool:
    """Exchange random positions until versions of an item are `gap` calls apart, and none too early; return success.

    `positions` (changed in place): each question's position, `per_call` in a call; `versions`: other versions of its
    items; `earliest`: its first allowed call.
    """
    position_of, question_at = positions.tolist(), np.argsort(positions).tolist()

    def conflicts(index: int) -> int:  # number of conditions that the question's position violates
        call = position_of[index] // per_call
        distances = [abs(call - position_of[version] // per_call) for version in versions.get(index, ())]
        return int(sum(distance < gap for distance in distances) + (call < earliest[index]))

    def exchange(index_a: int, index_b: int) -> None:
        position_of[index_a], position_of[index_b] = position_of[index_b], position_of[index_a]
        question_at[position_of[index_a]], question_at[position_of[index_b]] = index_a, index_b

    constrained_indices = [index for index in range(len(position_of)) if index in versions or earliest[index] > 0]
    misplaced_indices = constrained_indices
    misplaced_before = 2 * len(constrained_indices)  # so large that the first sweep never counts as stalled
    for _ in range(SWEEPS):  # a pass over all misplaced questions
        misplaced_indices = [index for index in constrained_indices if conflicts(index)]
        if not misplaced_indices or len(misplaced_indices) > STALLED * misplaced_before:  # hardly fewer than before
            break
        misplaced_before = len(misplaced_indices)
        random_positions = rng.integers(len(position_of), size=(len(misplaced_indices), TRIES)).tolist()
        for index, positions_to_try in zip(misplaced_indices, random_positions, strict=True):
            for position in positions_to_try:
                partner = question_at[position]
                conflicts_before = conflicts(index) + conflicts(partner)
                exchange(index, partner)
                if conflicts(index) + conflicts(partner) < conflicts_before:
                    break
                exchange(index, partner)  # no improvement: undone
    positions[:] = position_of
    return not any(map(conflicts, misplaced_indices))
