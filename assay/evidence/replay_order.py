"""Re-order ledger rows into Merkle-leaf order: the ledger is ordered by reply, the tree by question.

An experiment is replayed on its record, without a call, up to the last recorded question; its final
computation is not needed. At most one batch is held in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.errors import RecordIncomplete
from assay.experiment import Method, generator
from assay.model import Observation, Probe, Reply


class Unrolling:
    """Replay of an experiment that yields its units in evidence order; the caller reads the records.

    The loop is: while `advance` returns probes, read the records of their units, in order and a portion
    at a time, and pass each portion of probes with its records to `accept`.
    """

    def __init__(self, method: Method, seed: int, recorded: int) -> None:
        self._experiment = method.design(generator(seed))
        self._left, self._replies, self._begun = recorded, list[Reply](), False

    def advance(self) -> Sequence[Probe]:
        """Return the next batch of probes; empty after the last recorded batch. The call may take long."""
        while self._left > 0:
            try:
                batch = self._experiment.send(self._replies) if self._begun else next(self._experiment)
            except StopIteration:
                return ()
            self._begun, self._replies = True, []
            self._left -= len(batch)
            if batch:  # a method may ask nothing in between, such as the way back of texts that were all lost
                return batch
        return ()

    def accept(self, probes: Sequence[Probe], recorded: Mapping[str, Observation]) -> list[Observation]:
        """Return the records of the batch's next probes in order; raise `RecordIncomplete` if one does not match."""
        observations = [_of(probe, recorded) for probe in probes]
        if self._left > 0:
            self._replies += [observation.reply for observation in observations]
        return observations


def _of(probe: Probe, recorded: Mapping[str, Observation]) -> Observation:
    observation = recorded.get(probe.unit)
    if observation is None or observation.probe != probe:
        raise RecordIncomplete(probe.unit)
    return observation
