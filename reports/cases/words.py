"""Cases of methods about words: a word with its vector, or with all choices about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from assay.methods.association.detail import AssociationComponent
from assay.methods.forced_choice.detail import ForcedChoiceComponent
from assay.model import Embed, Observation
from reports.cases.reading import CaseReader, CaseReading, Leg, lost_kind

MIDDLE = 0.5
"""Point of subjective equality of a word that is as close to the first side as to the second."""


class WordCases(CaseReader):
    """A word is a case; the rating's document has its distance from either side."""

    @cached_property
    def _readings(self) -> Mapping[str, CaseReading]:
        """Readings of the words by the document."""
        return {word: reading for part in self.rating.components for word, reading in _readings(part)}

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return the unit of a vector, or the word of a choice; the rest of a choice's unit is its mixture."""
        unit = observation.probe.unit
        if isinstance(observation.probe.ask, Embed):
            return unit, ""
        word, *mixture = unit.rsplit("/", 2)
        return word, "/".join(mixture)

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:
        """Read an observation; a vector must be a list of numbers."""
        leg = super().leg(seq, key, role, observation)
        is_vector = isinstance(observation.reply.value, list) and observation.reply.value
        if leg.lost is None and isinstance(observation.probe.ask, Embed) and not is_vector:
            return leg._replace(lost="not-understood")
        return leg

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:
        """Return the distance of a word; of many choices about it, some may be lost."""
        lost = lost_kind(legs) if all(leg.lost for leg in legs) else None
        if lost is not None:
            return CaseReading(lost)
        return self._readings.get(key.rpartition("/")[2], CaseReading("answered"))


def _readings(part: object) -> list[tuple[str, CaseReading]]:
    if isinstance(part, ForcedChoiceComponent):
        sides = (part.sides.second or "the second side", part.sides.first or "the first side")
        return [
            (
                row.word,
                CaseReading(
                    "answered",
                    part.name,
                    2 if row.role == "concept" else 1,
                    abs(row.place - MIDDLE),
                    sides[row.place > MIDDLE],
                ),
            )
            for row in part.words
            if row.word and row.place is not None
        ]
    if not isinstance(part, AssociationComponent):
        return []
    readings = []
    for row in part.protected:
        means = {name: connection.mean for name, connection in row.connections.items()}
        associated, different = means.get("associated"), means.get("different")
        if row.word and associated is not None and different is not None:
            side = STEREOTYPED if associated < different else OPPOSED
            readings.append((row.word, CaseReading("answered", part.name, 2, abs(different - associated), side)))
    return readings


STEREOTYPED, OPPOSED = "nearer to the words that are associated with it", "nearer to the other side's words"
