"""Replies to generated inputs, and the choice of the label that is the positive class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.catalog.answer_text import label_key
from assay.methods.shared.answers.of_profiles import (
    LOST_SHARE,
    Answers,
    LabelSpellings,
    lost_reason,
    read_classes,
    too_few,
    too_many_labels,
    why_no_label,
)
from assay.methods.shared.answers.tally import Tally
from assay.methods.shared.profiles import Case
from assay.model import Floats, Reason, Reply
from assay.statistics.bayes.importance import SLACK

NEARLY = 0.02
"""If the scores of two labels sum to 1 within this tolerance, they are probabilities of two opposite classes."""

NOT = "not "
"""Prefix of the name of the opposite label, if a service has a single label with a score."""

MOST_SHOWN = 20
"""Maximum number of labels that a reason names."""

OUTPUT = "output"
"""Name of the component while the label of the positive class is not known."""


@dataclass
class ReplyLog:
    """Replies by name of the input: to a sentence, for all values; to a vector, only for its own value (`original`)."""

    replies: dict[str, tuple[Reply, ...]] = field(default_factory=dict)
    original: dict[str, int] = field(default_factory=dict)
    spellings: LabelSpellings = field(default_factory=LabelSpellings)

    def take(self, case: Case, replies: Sequence[Reply]) -> None:
        """Store the replies about an input, and the spellings of their labels."""
        self.replies[case.name] = tuple(replies)
        for reply in replies:
            scores = read_classes(reply.value) if reply.ok else None
            if scores is not None:
                self.spellings.unify(scores)  # stores new spellings; the scores are read again in `answers`
        if case.original is not None:
            self.original[case.name] = case.original

    def answers(self, cases: Sequence[Case], values: Sequence[str]) -> Answers:
        """Return the answers to the given cases, parsed and counted."""
        answers = Answers(tuple(cases), tuple(values), numbers=False, spellings=self.spellings)
        for index, case in enumerate(answers.cases):
            for value_index, reply in enumerate(self.replies.get(case.name, ())):  # in the order of `values`
                answers.take(index, value_index, reply)
        return answers

    def tally(self, values: Sequence[str]) -> Tally:
        """Count all replies, in total and by value."""
        tally = Tally()
        for name, replies in self.replies.items():
            # a sentence has a reply for each value, from the first; a vector has one, for its own value
            for value_index, reply in enumerate(replies, start=self.original.get(name, 0)):
                why_unusable = why_no_label(reply.value) if read_classes(reply.value) is None else None
                tally.count_reply(reply.failure, why_unusable, values[value_index])
        return tally


def probability(scores: Mapping[str, float], label: str) -> float:
    """Return the probability of a label, 0 if it has no score; for ``not LABEL``, 1 minus the probability of LABEL."""
    opposite = label.removeprefix(NOT)
    is_opposite = label not in scores and label != opposite and opposite in scores
    return 1 - scores[opposite] if is_opposite else scores.get(label, 0.0)


def choose_label(replies: Sequence[Mapping[str, float]], requested_label: str | None) -> str | Reason:
    """Return the label of the positive class: the requested label, or the rarer of two.

    `replies` holds the labels and scores of each reply, at least one. If the label cannot be known, or no reply can be
    positive, a reason is returned. The rarer of two labels shows differences between groups best, because nearly all
    inputs of every group have the common label (docs/decisions/0036).
    """
    labels = sorted({label for scores in replies for label in scores})
    are_without_scores = all([*scores.values()] == [1.0] for scores in replies)
    has_one_score = len(labels) == 1 and not are_without_scores
    if requested_label is not None:
        candidates = [*labels, *(NOT + label for label in labels)]  # labels and their opposites
        same_labels = [label for label in candidates if label_key(label) == label_key(requested_label)]
        requested_label = same_labels[0] if same_labels else requested_label
        if requested_label in labels or (has_one_score and requested_label == NOT + labels[0]):
            return requested_label
        code = "never-yes" if are_without_scores else "labels-unknown"
        facts = {"label": requested_label, "seen": labels[:MOST_SHOWN], "inputs": len(replies)}
        return too_many_labels(labels) or Reason(code, facts)
    # a service that sends only the likelier label has replies with one score, which say nothing about the sum
    score_sums = [sum(scores.values()) for scores in replies if len(scores) == 2]
    are_opposite = sum(abs(total - 1) > NEARLY for total in score_sums) <= LOST_SHARE * len(replies)
    if (len(labels) == 2 and are_opposite) or has_one_score:
        label_pair = [NOT + labels[0], labels[0]] if has_one_score else labels
        first_mean, second_mean = (np.mean([probability(scores, label) for scores in replies]) for label in label_pair)
        return label_pair[0 if first_mean < second_mean else 1]
    if len(labels) == 1:
        return Reason("constant-answers", {"label": labels[0], "inputs": len(replies)})
    return too_many_labels(labels) or Reason("labels-unknown", {"seen": labels[:MOST_SHOWN], "inputs": len(replies)})


def read_positives(answers: Answers, requested_label: str | None) -> tuple[str, Floats] | Reason:
    """Return the label of the positive class and its probability in each answer, or the reason why there is none.

    The probabilities have the shape (cases, values). They are NaN for a case with a missing or an unusable answer.
    """
    answers.complete_top_labels()
    complete_indices = answers.complete_indices
    if too_few(answers, len(complete_indices)):
        return lost_reason(answers, len(complete_indices))
    label = choose_label(list(answers.replies.values()), requested_label)
    if isinstance(label, Reason):
        return label
    value_indices = range(len(answers.values))
    p_positive = np.full((len(answers.cases), len(value_indices)), np.nan)
    for index in complete_indices:
        p_positive[index] = [probability(answers.replies[index, value], label) for value in value_indices]
    is_usable = np.asarray(((p_positive >= -SLACK) & (p_positive <= 1 + SLACK)).all(axis=1), dtype=bool)
    usable, total = int(is_usable.sum()), len(answers.cases)
    if 1 - usable / total > LOST_SHARE:
        why = {"no-probability": len(complete_indices) - usable}
        facts = {"total": total, "whole": usable, "share": 1 - usable / total, "why": why}
        return Reason("target-output-unusable", facts, label)
    p_positive = np.where(is_usable[:, None], np.clip(p_positive, 0.0, 1.0), np.nan)
    flat_reason = _flat_scores_reason(p_positive[is_usable], label)
    return (label, p_positive) if flat_reason is None else flat_reason


def _flat_scores_reason(scores: Floats, label: str) -> Reason | None:
    """Return a reason if all probabilities of the positive class are equal or none exceeds 0; otherwise ``None``."""
    if scores.max() <= 0:
        return Reason("never-yes", {"label": label, "inputs": int(scores.size)}, label)
    if scores.min() == scores.max():
        facts = {"label": label, "score": float(scores.flat[0]), "inputs": int(scores.size)}
        return Reason("constant-answers", facts, label)
    return None
