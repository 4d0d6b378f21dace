"""Answers about profiles: sentences or records that are sent once with each value of an attribute (he, she)."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

from assay.catalog.answer_text import label_key, plain_label, refuses_in_words
from assay.document import JsonObject
from assay.methods.shared.answers.tally import REFUSED_IN_WORDS, Tally, read_number
from assay.methods.shared.profiles import Case
from assay.model import Reason, Reply

MOST_LABELS = 50
"""Maximum number of labels that are judged: a classifier with more of them returns numbers, free text or its input."""

LONGEST_NAMED = 40
"""Maximum number of characters of a label that the text of a reason quotes."""

LABELS_NAMED, SPELLINGS_NAMED = 5, 5
"""Maximum number of reported labels that have several spellings, and maximum number of spellings shown for each."""

PAIR = 2  # number of labels of a classifier that decides between two classes

CONTRARY_SHARE = 0.01
"""Largest share of the answers about a value whose label may be contrary to the scores that came with it.

They move the value's share of a label by .01 at most: .1 standard deviations of a label that 1 % of the answers have.
"""

BY_LABEL = " (label)"
"""End of the name of a returned label and its component, if labels are judged beside the scores."""

LOST_SHARE = 0.2
"""Largest share of incompletely answered profiles with which a letter is still given."""


@dataclass
class LabelSpellings:
    """All spellings of each label; the first one represents the others, so that "Good" and "good" are one label."""

    by_key: dict[str, dict[str, None]] = field(default_factory=dict)
    """For each `label_key`, the spellings of the label (keys of a dict) in the order of their first answer."""

    def unify(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return the scores of an answer, each under the first spelling in which any answer had the label.

        If labels of the answer itself differ in spelling only, they are different labels: `scores` are then unchanged.
        """
        if len({label_key(label) for label in scores}) < len(scores):
            return dict(scores)
        for label in scores:
            self.by_key.setdefault(label_key(label), {}).setdefault(label)  # a dict serves as an ordered set
        return {self.first(label): score for label, score in scores.items()}

    def first(self, label: str) -> str:
        """Return the first spelling of a label, without outer spaces and marks; the label itself if it is unknown."""
        spellings = self.by_key.get(label_key(label))
        return plain_label(next(iter(spellings))) if spellings else label

    def reasons(self) -> tuple[Reason, ...]:
        """Return a reason for each label that came in several spellings, for `LABELS_NAMED` labels at most."""
        respelt = [tuple(spellings) for spellings in self.by_key.values() if len(spellings) > 1]
        return tuple(
            Reason(
                "label-respelt",
                {"label": first, "spellings": [repr(spelling) for spelling in later_spellings[:SPELLINGS_NAMED]]},
            )
            for first, *later_spellings in respelt[:LABELS_NAMED]
        )


@dataclass
class Answers(Tally):
    """Answers (numbers, or scores of labels) about cases with each value of the attribute, and counts of replies."""

    cases: tuple[Case, ...]
    values: tuple[str, ...]
    numbers: bool
    """Whether the service answers with numbers, not with labels."""
    spellings: LabelSpellings = field(default_factory=LabelSpellings)
    replies: dict[tuple[int, int], Any] = field(default_factory=dict)
    """Usable answers by (index of case, index of value)."""
    returned: dict[tuple[int, int], str] = field(default_factory=dict)
    """Labels that the service returned itself, with scores or alone, by the keys of `replies`."""

    def take(self, profile: int, value: int, *replies: Reply) -> None:
        """Count the reply about the profile and value with these indices, and store its answer if it is usable."""
        (reply,) = replies  # the subclass for comparisons takes two
        answer = read_number(reply.value) if self.numbers else read_classes(reply.value)
        why_unusable = "no-number" if self.numbers else why_no_label(reply.value)
        self.count_reply(reply.failure, None if answer is not None else why_unusable, self.values[value])
        if reply.failure is None and answer is not None:
            self.replies[profile, value] = self.spellings.unify(answer) if isinstance(answer, dict) else answer
            if isinstance(answer, dict) and (labels := read_classes({"label": reply.value.get("label")})):
                (label,) = labels  # the label that came beside scores, or alone
                is_spelt_as_scored = label in self.replies[profile, value]
                self.returned[profile, value] = label if is_spelt_as_scored else self.spellings.first(label)

    def label(self, profile: int, value: int) -> str:
        """Return the label that the service returned; if it returned scores alone, the likeliest label."""
        scores = self.replies[profile, value]
        return self.returned.get((profile, value)) or max(sorted(scores), key=scores.__getitem__)

    def by_label(self) -> Self:
        """Return a copy in which each answer is its label alone, with `BY_LABEL` after its name."""
        return replace(self, replies={key: {self.label(*key) + BY_LABEL: 1.0} for key in self.replies}, returned={})

    def contrary_labels(self) -> Reason | None:
        """Return the reason to judge labels beside scores: too many are contrary to them, and not all are the same."""
        if self.numbers or len({self.label(*key) for key in self.replies}) < 2:
            return None
        contrary = Counter(key[1] for key, label in self.returned.items() if _is_contrary(label, self.replies[key]))
        answered = Counter(value for _, value in self.replies)  # by index of the value, as `contrary`
        share, value = max((contrary[value] / count, self.values[value]) for value, count in answered.items())
        is_negligible = share <= CONTRARY_SHARE
        return None if is_negligible else Reason("labels-contradict-scores", {"share": share, "value": value})

    def complete_top_labels(self) -> None:
        """Complete answers with a single label and score, unless all of them have the same label, or all scores are 1.

        If all answers together have two labels, the other label gets the remaining probability. If they have more,
        the other scores are unknown, so the answer becomes its label, scored 1. An unknown score is never taken for 0.
        """
        answers = {key: answer for key, answer in self.replies.items() if isinstance(answer, dict)}
        labels = {label for scores in answers.values() for label in scores}
        top_labels = {key: next(iter(scores.items())) for key, scores in answers.items() if len(scores) == 1}
        have_scores = any(score != 1 for _, score in top_labels.values())  # labels without scores were read as 1
        if len({label for label, _ in top_labels.values()}) < 2 or not have_scores:
            return
        for key, (label, score) in top_labels.items():
            self.returned.setdefault(key, label)
            if len(labels) == PAIR:
                (other_label,) = labels - {label}
                self.replies[key] = {label: score, other_label: 1 - score}
            else:
                self.replies[key] = {label: 1.0}

    @property
    def complete_indices(self) -> list[int]:
        """Indices of the profiles that were answered under every value."""
        answer_counts = Counter(profile for profile, _ in self.replies)
        return [profile for profile in range(len(self.cases)) if answer_counts[profile] == len(self.values)]


def read_classes(value: object) -> dict[str, float] | None:
    """Return an answer's scores by label (1 for a label alone); ``None`` for a refusal, no label or no valid score."""
    if not isinstance(value, Mapping):
        return None
    scores = value.get("scores")
    if isinstance(scores, Mapping) and scores:
        number_by_label = {str(label): read_number(score) for label, score in scores.items()}
        known_numbers = {label: number for label, number in number_by_label.items() if number is not None}
        return known_numbers if len(known_numbers) == len(number_by_label) else None
    label = value.get("label")
    return {label: 1.0} if isinstance(label, str) and label_key(label) and not _is_refusal(label) else None


def _is_contrary(label: str, scores: Mapping[str, float]) -> bool:
    """Return whether the returned label is not the only likeliest one; a single score is compared with 1/2."""
    if len(scores) == 1:
        ((scored_label, score),) = scores.items()
        return score == 0.5 or (label == scored_label) != (score > 0.5)
    return label not in scores or any(scores[label] <= scores[other] for other in scores if other != label)


def why_no_label(value: object) -> str:
    """Return the reason code of an answer for which `read_classes` returns ``None``: a refusal, or no label."""
    label = value.get("label") if isinstance(value, Mapping) else None
    return REFUSED_IN_WORDS if isinstance(label, str) and _is_refusal(label) else "no-label"


def _is_refusal(label: str) -> bool:
    """Return whether a label is a refusal in words; a single word never is."""
    return " " in label and refuses_in_words(label)


def too_many_labels(labels: Collection[str]) -> Reason | None:
    """Return the reason not to judge labels if there are more than `MOST_LABELS`; otherwise ``None``."""
    if len(labels) <= MOST_LABELS:
        return None
    examples = [label[:LONGEST_NAMED] for label in islice(labels, LABELS_NAMED)]
    return Reason("too-many-labels", {"labels": len(labels), "most": MOST_LABELS, "seen": examples})


def too_few(answers: Answers, complete_count: int) -> bool:
    """Return whether no letter can be given: too few complete profiles (`complete_count`), or the budget ran out."""
    return not complete_count or 1 - complete_count / len(answers.cases) > LOST_SHARE or bool(answers.unasked)


def lost_reason(answers: Answers, complete_count: int) -> Reason:
    """Return the reason why too few profiles, only `complete_count`, have all their answers."""
    total = len(answers.cases)
    facts: JsonObject = {"total": total, "whole": complete_count, "share": 1 - complete_count / total if total else 1.0}
    if answers.unusable_why.total() > answers.failed_why.total():
        return Reason("target-output-unusable", {**facts, "why": dict(answers.unusable_why)})
    if answers.failed_why:
        return Reason("target-calls-failed", {**facts, "why": dict(answers.failed_why)})
    return Reason("no-usable-observations" if not answers.replies else "profiles-incomplete", facts)
