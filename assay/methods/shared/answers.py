"""Answers about profiles, which are asked with each value of an attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.methods.shared.answer_tally import Tally, read_number
from assay.methods.shared.profiles import Case
from assay.model import Reason, Reply

LOST_SHARE = 0.2
"""Largest share of incompletely answered profiles with which a letter is still given."""


@dataclass
class Answers(Tally):
    """Answers about profiles, by the indices of profile and value: numbers, or labels with scores."""

    cases: tuple[Case, ...]
    values: tuple[str, ...]
    numbers: bool
    replies: dict[tuple[int, int], Any] = field(default_factory=dict)

    def take(self, place: int, value: int, reply: Reply) -> None:
        """Count one reply, and store its answer if it is usable."""
        read = read_number(reply.value) if self.numbers else read_classes(reply.value)
        wrong = None if read is not None else "no-number" if self.numbers else "no-label"
        self.count_reply(reply, wrong, self.values[value])
        if reply.failure is None and read is not None:
            self.replies[place, value] = read

    @property
    def whole(self) -> list[int]:
        """Indices of the profiles that were answered under every value."""
        answered = Counter(place for place, _ in self.replies)
        return [place for place in range(len(self.cases)) if answered[place] == len(self.values)]


def read_classes(value: Any) -> dict[str, float] | None:
    """Read labels with their scores; a label without scores gets score 1; ``None`` if there is no label."""
    if not isinstance(value, Mapping):
        return None
    scores = value.get("scores")
    if isinstance(scores, Mapping) and scores:
        read = {str(label): read_number(score) for label, score in scores.items()}
        return None if None in read.values() else {label: score for label, score in read.items() if score is not None}
    label = value.get("label")
    return {label: 1.0} if isinstance(label, str) and label else None


def too_few(answers: Answers, whole: int) -> bool:
    """Return whether too many profiles lack answers for a letter to be given, or the call budget ran out."""
    return not whole or 1 - whole / len(answers.cases) > LOST_SHARE or bool(answers.unasked)


def lost_reason(answers: Answers, whole: int) -> Reason:
    """Return the reason why too few profiles have all their answers."""
    total = len(answers.cases)
    facts: dict[str, Any] = {"total": total, "whole": whole, "share": 1 - whole / total if total else 1.0}
    if answers.unusable_why.total() > answers.failed_why.total():
        return Reason("target-output-unusable", {**facts, "why": dict(answers.unusable_why)})
    if answers.failed_why:
        return Reason("target-calls-failed", {**facts, "why": dict(answers.failed_why)})
    return Reason("no-usable-observations" if not answers.replies else "profiles-incomplete", facts)
