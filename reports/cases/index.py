"""Index of all cases of a rating (groups of observations that belong together): their kinds, counts and order."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from assay.model import Draw, Observation, Write
from reports.cases.reading import CANARY, KINDS, CaseKind, CaseReader, CaseReading, Leg, question_key

UNJUDGED_KINDS: frozenset[CaseKind] = frozenset({"canary", "written"})
"""Kinds of cases that are not judged; they are listed after all others."""


class Case(NamedTuple):
    """Observations (questions with their replies) that are judged together; `seqs`: their numbers; `id`: the first.

    `weight` is the case's contribution to the effect that decided the letter: the absolute value of `difference`,
    divided by the number of cases that this effect compares; 0 if this case is not among them.
    """

    id: int
    key: str
    seqs: tuple[int, ...]
    kind: CaseKind
    part: str | None
    step: int | None
    difference: float | None
    side: str | None
    weight: float


@dataclass(frozen=True)
class CaseIndex:
    """The cases of a rating, the largest weight first, and counts of their observations."""

    cases: tuple[Case, ...]
    observations: int
    copied: int
    by_question: Mapping[int, int] = field(repr=False)
    """Id of a case, by the hash of the text of one of its questions."""

    @cached_property
    def recorded(self) -> tuple[Case, ...]:
        """The cases in the order of recording."""
        return tuple(sorted(self.cases))  # by their first field, the id

    @cached_property
    def counts(self) -> Mapping[CaseKind, int]:
        """Number of cases of each kind that occurs, in the order of `KINDS`."""
        counts = Counter(case.kind for case in self.cases)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    @cached_property
    def by_id(self) -> Mapping[int, Case]:
        """The cases by their ids."""
        return {case.id: case for case in self.cases}


class CaseIndexBuilder:
    """Groups a rating's observations into cases: `add` them in recorded order, in one call or more, then `finish`."""

    def __init__(self, reader: CaseReader) -> None:
        self._reader = reader
        self._legs: dict[str, list[Leg]] = {}  # parsed observations, by the case's key
        self._written: set[str] = set()  # keys of cases that the author wrote or drew
        self._key_of_question: dict[int, str] = {}  # by the hash of the question's text
        self._observation_count = self._copied_count = 0

    def add(self, observations: Iterable[tuple[int, Observation]]) -> None:
        """Parse observations, each with its number in the record, as legs of their cases."""
        for seq, observation in observations:
            self._observation_count += 1
            self._copied_count += observation.copied
            key, leg = self._read_leg(seq, observation)
            self._legs.setdefault(key, []).append(leg)
            text = "" if key in self._written else question_key(observation.probe.ask)
            # a question leads to the first case that asks it, but to a trial case only if no other case asks it
            if text and self._key_of_question.setdefault(hash(text), key).startswith(CANARY):
                self._key_of_question[hash(text)] = key

    def finish(self) -> CaseIndex:
        """Judge every case by the `CaseReader`, and return the index of the cases, the largest weight first."""
        readings = {
            key: CaseReading("written") if key in self._written else self._reader.read(key, legs)
            for key, legs in self._legs.items()
        }
        compared_readings = (reading for reading in readings.values() if reading.difference is not None)
        counts = Counter((reading.part, reading.step) for reading in compared_readings)
        cases = [  # all fields of a reading are fields of its case, in the same order
            Case(legs[0].seq, key, tuple(leg.seq for leg in legs), *readings[key], self._weight(readings[key], counts))
            for key, legs in self._legs.items()
        ]
        # unjudged cases last; otherwise by descending weight, then by descending difference
        cases.sort(key=lambda case: (case.kind in UNJUDGED_KINDS, -case.weight, -abs(case.difference or 0.0), case.id))
        by_question = {question: self._legs[key][0].seq for question, key in self._key_of_question.items()}
        return CaseIndex(tuple(cases), self._observation_count, self._copied_count, by_question)

    def _read_leg(self, seq: int, observation: Observation) -> tuple[str, Leg]:
        """Return a case's key and its leg (the parsed observation); what an author wrote or drew is its own case."""
        if isinstance(observation.probe.ask, Write | Draw) and not self._reader.target_writes:
            self._written.add(observation.probe.unit)
            return observation.probe.unit, Leg(seq, role="")
        key, role = self._reader.split(observation)
        return key, self._reader.leg(seq, key, role, observation)

    def _weight(self, reading: CaseReading, counts: Mapping[tuple[str | None, int | None], int]) -> float:
        """Return a judged case's share in the deciding effect; `counts`: compared cases by (component, step)."""
        if self._reader.deciding is None or reading.difference is None:
            return 0.0
        component_name, step = self._reader.deciding
        if reading.part != component_name or reading.step not in {None, step}:  # ``None``: it counts in both steps
            return 0.0
        return abs(reading.difference) / counts[reading.part, reading.step]
