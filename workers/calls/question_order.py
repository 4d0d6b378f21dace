"""Order in which the questions of a batch are sent: random, with the versions of one item far apart."""

from __future__ import annotations

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
"""Indices of the other versions of the same items, for each question that has any."""


class QuestionOrder:
    """Orders the batches of a job; the versions of an item (`Probe.versions_of`) are far apart over all batches.

    A service could otherwise recognise a test by two questions that differ only in the attribute. The version that is
    sent first is random.

    Parameters
    ----------
    rng : Generator
        Decides the order. The service must not know it; the rating does not depend on it.
    apart : int
        Number of calls between two versions of an item. If a batch is too small, the distance is as large as possible.
    """

    def __init__(self, rng: np.random.Generator, apart: int = LEAST_APART) -> None:
        self._rng, self._apart = rng, apart
        self._calls = 0
        self._last: dict[str, int] = {}

    def arrange(self, probes: Sequence[Probe], most_per_call: int = 1) -> tuple[list[Probe], int]:
        """Return the probes of a batch in the order of sending, and how many of them to send in one call.

        The versions of an item never share a call if the call may be smaller than the batch.
        """
        relatives = _other_versions(probes)
        per_call = questions_in_a_call(probes, most_per_call)
        calls = -(-len(probes) // max(1, per_call))
        slots = self._rng.permutation(len(probes))
        for apart, apart_before, in_rounds in self._distances(calls, relatives):
            earliest = np.array([self._earliest_call(probe, apart_before) for probe in probes])
            if in_rounds and relatives:
                slots = _positions_in_rounds(relatives, slots, earliest)
            elif in_rounds:
                slots = np.argsort(np.lexsort((slots, earliest)))
            if _swap_until_separate(slots, relatives, earliest.tolist(), apart, per_call, self._rng):
                break
        for probe, slot in zip(probes, slots.tolist(), strict=True):
            for name in probe.versions_of:
                self._last[name] = max(self._last.get(name, 0), self._calls + slot // per_call)
        self._calls += calls
        self._last = {name: call for name, call in self._last.items() if self._calls - call < self._apart}
        return [probes[index] for index in np.argsort(slots)], per_call

    def _earliest_call(self, probe: Probe, apart: int) -> int:
        """Return the first call of this batch that is `apart` calls after the item's versions in earlier batches."""
        calls = [self._last[name] for name in probe.versions_of if name in self._last]
        return max(0, max(calls) + apart - self._calls) if calls else 0

    def _distances(self, calls: int, relatives: Relatives) -> Iterator[tuple[int, int, bool]]:
        """Yield distances to try, the largest first; nothing if every order is allowed.

        Each is: distance within the batch, distance from earlier batches (in calls), whether to begin in rounds.
        """
        if not relatives and not self._last:
            return
        apart = min(self._apart, calls // max(2, max(map(len, relatives.values()), default=0)))
        if calls > 2 * apart:
            yield apart, self._apart, False
        share = 1.0
        while int(share * self._apart) > 0:
            yield max(1, int(share * apart)), int(share * self._apart), True
            share *= SHRINKAGE


def _other_versions(probes: Sequence[Probe]) -> Relatives:
    by_name: dict[str, list[int]] = defaultdict(list)
    for index, probe in enumerate(probes):
        for name in probe.versions_of:
            by_name[name].append(index)
    relatives: dict[int, set[int]] = defaultdict(set)
    for members in by_name.values():
        if 1 < len(members) <= MOST_VERSIONS:
            for index in members:
                relatives[index].update(members)
    return {index: tuple(others - {index}) for index, others in relatives.items()}


def _positions_in_rounds(relatives: Relatives, slots: Integers, earliest: Integers) -> Integers:
    """Return positions in rounds: no round has two relatives, and all have the same order of groups of relatives.

    The first round begins with the questions that may be asked earliest.
    """
    rounds: dict[int, int] = {}
    for first_index in np.argsort(slots).tolist():
        waiting = [first_index]
        while waiting:  # neighbours are visited one after another, so that they get neighbouring positions
            index = waiting.pop()
            if index not in rounds:
                taken_rounds = {rounds[relative] for relative in relatives.get(index, ()) if relative in rounds}
                rounds[index] = next(turn for turn in range(len(taken_rounds) + 1) if turn not in taken_rounds)
                waiting += [relative for relative in relatives.get(index, ()) if relative not in rounds]
    in_order = sorted(rounds, key=lambda index: (rounds[index], earliest[index] if rounds[index] == 0 else 0))
    return np.argsort(np.array(in_order))


def _swap_until_separate(
    slots: Integers, relatives: Relatives, earliest: Sequence[int], apart: int, per_call: int, rng: np.random.Generator
) -> bool:
    """Exchange positions at random until no question is too early or too close to a relative; return success.

    `slots` holds the position of each question and is changed in place. `earliest` are the first calls allowed.
    """
    slot, holder = slots.tolist(), np.argsort(slots).tolist()

    def conflicts(index: int) -> int:
        call = slot[index] // per_call
        close = sum(abs(call - slot[relative] // per_call) < apart for relative in relatives.get(index, ()))
        return int(close + (call < earliest[index]))

    def exchange(index_a: int, index_b: int) -> None:
        slot[index_a], slot[index_b] = slot[index_b], slot[index_a]
        holder[slot[index_a]], holder[slot[index_b]] = index_a, index_b

    constrained_indices = [index for index in range(len(slot)) if index in relatives or earliest[index] > 0]
    misplaced_indices, before_sweep = constrained_indices, 2 * len(constrained_indices)
    for _ in range(SWEEPS):
        misplaced_indices = [index for index in constrained_indices if conflicts(index)]
        if not misplaced_indices or len(misplaced_indices) > STALLED * before_sweep:
            break
        before_sweep = len(misplaced_indices)
        tried_indices = rng.integers(len(slot), size=(len(misplaced_indices), TRIES)).tolist()
        for index, positions in zip(misplaced_indices, tried_indices, strict=True):
            for position in positions:
                partner = holder[position]
                before = conflicts(index) + conflicts(partner)
                exchange(index, partner)
                if conflicts(index) + conflicts(partner) < before:
                    break
                exchange(index, partner)
    slots[:] = slot
    return not any(map(conflicts, misplaced_indices))
