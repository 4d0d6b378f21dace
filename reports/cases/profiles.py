"""Cases of methods that ask about profiles: the answers to one text or record with every value of the attribute."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from assay.catalog.answer_text import label_key
from assay.document import RatingDocument
from assay.methods.alternation.comparisons import first_share
from assay.methods.alternation.detail import AlternationComponent
from assay.methods.shared.answers.of_profiles import BY_LABEL, read_classes
from assay.methods.shared.answers.tally import read_number
from assay.methods.shared.detail import ProfilesComponent
from assay.model import COMPARED, REPEATED, Observation
from reports.cases.reading import CaseKind, CaseReader, CaseReading, Deciding, Leg, lost_kind, missing_reason

POSITION_SUFFIXES = ("/first", "/second")
"""Suffixes of units and roles in comparisons of two documents: which of the two is the profile's own document."""

LIMIT = 0.1
"""Default of the largest difference, in standard deviations of all answers, that counts as unchanged."""


class ProfileCases(CaseReader):
    """Reader of cases that have the answers about one text or record (a profile) with each value of the attribute."""

    def __init__(self, rating: RatingDocument, deciding: Deciding | None = None) -> None:
        super().__init__(rating, deciding)
        part = self.part()
        self.values = part.values if isinstance(part, ProfilesComponent) else ()
        self.component_name = None if part is None else part.name
        self.paired = isinstance(part, AlternationComponent)  # only its effect compares answers within a case
        label = getattr(part, "label", None) or self.component_name or ""
        self.by_label = label.endswith(BY_LABEL)  # whether returned labels were judged, and not the scores beside them
        self.label = label_key(label.removesuffix(BY_LABEL))
        self.answers: list[float] = []  # of all cases, for their standard deviation

    @property
    def first_side(self) -> str:
        """First value of the attribute: cases in its favour have positive differences."""
        return self.values[0] if self.values else ""

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return a case's key (profile name) and the role: VALUE, then "/first" or "/second" and repetition, if any."""
        unit, repeat_marker, repeat_number = observation.probe.unit.partition(REPEATED)
        suffixes = POSITION_SUFFIXES if _is_comparison(observation) else ()
        position = next((suffix for suffix in suffixes if unit.endswith(suffix)), "")  # of the profile's document
        unit = unit.removesuffix(position)
        name, value = self.split_value(unit)  # `value` may also be the index of a value
        if value not in self.values and value.isdecimal() and int(value) < len(self.values):
            value = self.values[int(value)]
        return name, f"{value}{position}{repeat_marker}{repeat_number}"

    def split_value(self, unit: str) -> tuple[str, str]:
        """Split a unit "NAME/VALUE" into (name, value); a known value (the longest that fits) may contain slashes."""
        matches = [name for name in self.values if unit.endswith(f"/{name}")]
        value = max(matches, key=len, default=unit.rpartition("/")[2])
        return unit.removesuffix(f"/{value}"), value

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:  # noqa: ARG002
        """Parse an answer as a number: itself, the label's score or, in a comparison, the profile's share (1: won)."""
        loss, value = missing_reason(observation), observation.reply.value
        if loss is not None:
            return Leg(seq, role, loss)
        score = self._document_share(role, value) if _is_comparison(observation) else self.score(value)
        if score is None:
            return Leg(seq, role, "not-understood")
        if REPEATED not in role:
            self.answers.append(score)
        return Leg(seq, role, value=score)

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:  # noqa: ARG002
        """Compare the mean answers for each value of the attribute; repetitions of a question are left out."""
        unrepeated_legs = [leg for leg in legs if REPEATED not in leg.role]
        if (loss := lost_kind(unrepeated_legs)) is not None:
            return CaseReading(loss, self.component_name)
        scores_by_value: dict[str, list[float]] = {}
        for leg in unrepeated_legs:
            position = next((suffix for suffix in POSITION_SUFFIXES if leg.role.endswith(suffix)), "")
            scores_by_value.setdefault(leg.role.removesuffix(position), []).append(leg.value)
        return self.compare({value: sum(scores) / len(scores) for value, scores in scores_by_value.items()})

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase that says with which value the answer is highest, and by how much."""
        if not reading.side:
            return "the same answer with every value"
        answer = f"“{reading.part}”" if reading.part else "the answer"
        return f"{answer} is {reading.difference:.3g} higher with “{reading.side}”"

    def compare(self, scores: Mapping[str, float], part: str | None = None) -> CaseReading:
        """Judge a case by the highest minus the lowest of its `scores` (by value); a single one has no difference."""
        if len(scores) < 2:
            return CaseReading("answered", part or self.component_name)
        highest, lowest = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
        difference = scores[highest] - scores[lowest]
        # the tolerance of alternation is in standard deviations of all answers, as `LIMIT` is
        limit_is_delta = isinstance(self.part(), AlternationComponent)
        limit = self.rating.delta if limit_is_delta and self.rating.delta is not None else LIMIT
        kind: CaseKind = "changed" if difference > limit * self._deviation else "kept"
        side = highest if difference else None
        return CaseReading(kind, part or self.component_name, difference=difference, side=side)

    @cached_property
    def _deviation(self) -> float:
        """Standard deviation of all answers of the rating; 0 without answers."""
        return float(np.std(self.answers)) if self.answers else 0.0

    def score(self, value: object) -> float | None:
        """Return an answer's number, or its score for the judged label; ``None`` if the answer cannot be parsed."""
        if (number := read_number(value)) is not None:
            return number
        label_alone = {"label": value.get("label")} if self.by_label and isinstance(value, Mapping) else None
        classes = read_classes(label_alone) or read_classes(value)
        if classes is None:
            return None
        scores = {label_key(label): score for label, score in classes.items()}
        if self.label in scores:
            return scores[self.label]
        opposite_score = scores.get(self.label.removeprefix("not "))  # of X, if the label is "not X"
        if opposite_score is None and len(scores) == 1:
            (opposite_score,) = scores.values()  # of two labels, the service named or scored only the other
            opposite_score = None if opposite_score >= 1 else opposite_score  # 1: named without a score
        return 0.0 if opposite_score is None else 1 - opposite_score

    def _document_share(self, role: str, value: object) -> float | None:
        """Return the profile's share of a comparison of two documents: 1 (won), 1/2 or 0; ``None`` if unreadable."""
        share = first_share(value)
        return 1 - share if share is not None and POSITION_SUFFIXES[1] in role else share


def _is_comparison(observation: Observation) -> bool:
    record = getattr(observation.probe.ask, "given", "")
    # the record of a comparison consists of two documents, named as the first two labels
    return not isinstance(record, str) and tuple(name for name, _ in record) == COMPARED[:2]
