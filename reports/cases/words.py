"""Cases of methods about words: the vector of a word, or all choices about it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import fmean

from assay.explain import share
from assay.methods.association.detail import AssociationComponent
from assay.methods.association.method import ALL_STEREOTYPES
from assay.methods.forced_choice.detail import ForcedChoiceComponent
from assay.model import Embed, Observation
from assay.rating.document import deciding_effect
from reports.cases.reading import (
    STEREOTYPE,
    CaseKind,
    CaseReader,
    CaseReading,
    CaseText,
    Leg,
    lost_kind,
    question_and_answer,
)

MIDDLE = 0.5
"""Point of subjective equality of a word that is as close to the first side as to the second."""

CONTROLS, STEREOTYPES = frozenset({"human", "neutral"}), frozenset({"associated", "different"})
"""Connections (kinds of attribute word): words that should be equally near to every group, and stereotypes."""

STRATA = {"human words": frozenset({"human"}), "neutral words": frozenset({"neutral"}), ALL_STEREOTYPES: STEREOTYPES}
"""By effect, the kinds of attribute word (connections) that it is about; others are about all control words."""


class WordCases(CaseReader):
    """Reader of cases that have the answers about one word; how near it is to each side is in the rating document."""

    @cached_property
    def _reading_of_word(self) -> Mapping[str, CaseReading]:
        return {word: reading for part in self.rating.components for word, reading in _word_readings(part)}

    @cached_property
    def _distances_of_word(self) -> Mapping[str, Mapping[str, float]]:
        """By word and by group: mean cosine distance of the word to the words for the group."""
        parts = [part for part in self.rating.components if isinstance(part, AssociationComponent)]
        return {word: means for part in parts for word, (_, means) in _distances_by_group(part).items()}

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return the case's key and the role: empty for a vector; for a choice, LEVEL (mixture of cues)/REPEAT."""
        unit = observation.probe.unit
        if isinstance(observation.probe.ask, Embed):
            return unit, ""
        word_key, *level_and_repeat = unit.rsplit("/", 2)  # choice/WORD/LEVEL/REPEAT
        return word_key, "/".join(level_and_repeat)

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:
        """Parse an observation; a vector that is no list, or an empty list, counts as not understood."""
        leg = super().leg(seq, key, role, observation)
        is_vector = isinstance(observation.reply.value, list) and observation.reply.value
        if leg.lost is None and isinstance(observation.probe.ask, Embed) and not is_vector:
            return leg._replace(lost="not-understood")
        return leg

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:
        """Return the judgement of the case's word; the word is lost only if all its observations are lost."""
        loss = lost_kind(legs) if all(leg.lost for leg in legs) else None
        if loss is not None:
            return CaseReading(loss)
        *_, word = key.rpartition("/")  # the key of a vector, or of a choice, ends with its word
        return self._reading_of_word.get(word, CaseReading("answered"))

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase on the side or group to which a word is nearer, and by how much."""
        if any(isinstance(part, ForcedChoiceComponent) for part in self.rating.components):
            return f"{share(reading.difference or 0.0)} from the middle, on the side of “{reading.side}”"
        stereotypes = ("stereotypes of its own group", "stereotypes of other groups")
        words = dict(zip(STEREOTYPE, stereotypes, strict=True)).get(reading.side or "", f"words for “{reading.side}”")
        return f"nearer to {words}, by a distance of {reading.difference:.3g}"

    def texts(self, observations: Iterable[Observation]) -> list[CaseText]:
        """Return the questions with their answers; for a vector, the word's distances or, if unknown, its length."""
        return [self._case_text(observation) for observation in observations]

    def _case_text(self, observation: Observation) -> CaseText:
        """Return a question and its answer; the answer of a vector is the word's distances to the words for groups."""
        _, role = self.split(observation)
        question, vector = question_and_answer(observation, role), observation.reply.value
        if not isinstance(observation.probe.ask, Embed) or not isinstance(vector, list):
            return question
        distances_by_group = self._distances_of_word.get(question.text, {})  # the question is the word itself
        distances = [f"{distance:.2f} from words for “{group}”" for group, distance in distances_by_group.items()]
        return replace(question, answer=", ".join(distances) or f"{len(vector):,} numbers")


def _word_readings(part: object) -> Iterator[tuple[str, CaseReading]]:
    """Yield (word, judgement) for each measured word of a component; a judgement names the step that the word tests."""
    if isinstance(part, ForcedChoiceComponent):
        first_side, second_side = part.sides.first or "the first side", part.sides.second or "the second side"
        for row in part.words:
            if row.word and (point := row.pse_value) is not None:  # at which both sides are chosen equally often
                step = 2 if row.role == "concept" else 1
                side = first_side if point > MIDDLE else second_side
                yield row.word, CaseReading("answered", part.name, step, difference=abs(point - MIDDLE), side=side)
    if not isinstance(part, AssociationComponent):
        return
    deciding = deciding_effect(part, part.letter)
    deciding_word_kinds = STRATA.get("" if deciding is None else deciding.name, CONTROLS)  # by effect; else controls
    for word, (word_kind, distances) in _distances_by_group(part).items():
        nearest_group = min(distances, key=distances.__getitem__)
        difference = max(distances.values()) - distances[nearest_group]
        # words of other kinds do not contribute to the deciding effect
        component_name = part.name if word_kind in deciding_word_kinds else None
        yield word, CaseReading("answered", component_name, step=1, difference=difference, side=nearest_group)
    for protected in part.protected:  # words for the groups, with their mean distances to stereotypes
        means = {name: distances.mean for name, distances in protected.connections.items()}
        own_mean, other_mean = means.get("associated"), means.get("different")
        if protected.word and own_mean is not None and other_mean is not None:
            kind: CaseKind = "against" if own_mean > other_mean else "towards"
            side, difference = STEREOTYPE[0 if kind == "towards" else 1], abs(other_mean - own_mean)
            yield protected.word, CaseReading(kind, part.name, step=2, difference=difference, side=side)


def _distances_by_group(part: AssociationComponent) -> Mapping[str, tuple[str, Mapping[str, float]]]:
    """Map each attribute word to its kind (such as "neutral") and its mean distance from the words for each group."""
    group_of_word = {row.word: row.group or "" for row in part.protected}
    distances_of_word: dict[str, tuple[str, dict[str, list[float]]]] = {}
    for protected_word, distances_by_kind in part.raw.items():
        for word_kind, distances in distances_by_kind.items():
            for word, distance in distances.items():
                _, by_group = distances_of_word.setdefault(word, (word_kind, {}))
                by_group.setdefault(group_of_word.get(protected_word, ""), []).append(distance)
    return {
        word: (word_kind, {group: fmean(distances) for group, distances in by_group.items()})
        for word, (word_kind, by_group) in distances_of_word.items()
    }
