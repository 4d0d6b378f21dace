"""Replies to generated inputs, and the label that is the yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.methods.shared.answer_tally import Tally
from assay.methods.shared.answers import Answers, read_classes
from assay.methods.shared.profiles import Case
from assay.model import Floats, Reason, Reply
from assay.statistics.bayes.importance import SLACK

OUTPUT = "output"
"""Name of the component before its label is known."""

TWO = 2
"""Number of labels of which the last is the yes, where none is named."""


@dataclass
class Heard:
    """Replies so far, by the name of the input: those under each value, or the one reply and the place of its value."""

    replies: dict[str, tuple[Reply, ...]] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)

    def take(self, case: Case, replies: Sequence[Reply]) -> None:
        """Keep the replies about an input."""
        self.replies[case.name] = tuple(replies)
        if case.own is not None:
            self.own[case.name] = case.own

    def answers(self, cases: Sequence[Case], values: Sequence[str]) -> Answers:
        """Return the answers to some of the profiles."""
        answers = Answers(tuple(cases), tuple(values), numbers=False)
        for place, case in enumerate(answers.cases):
            for value, reply in enumerate(self.replies.get(case.name, ())):
                answers.take(place, value, reply)
        return answers

    def tally(self, values: Sequence[str]) -> Tally:
        """Count all replies, and those about each of the values."""
        tally = Tally()
        for name, replies in self.replies.items():
            for place, reply in enumerate(replies, self.own.get(name, 0)):
                tally.count_reply(reply, "no-label" if read_classes(reply.value) is None else None, values[place])
        return tally


# ---------------------------------------------------------------------------- label that counts as yes
def choose_label(replies: Sequence[Mapping[str, float]], wanted: str | None) -> str | Reason:
    """Return the label that is the yes: the wanted one, or of two the last.

    `replies` holds labels with their scores, at least one reply. A reason is returned where the label cannot be known,
    or where no reply can be a yes.
    """
    seen = sorted({label for read in replies for label in read})
    alone = all(len(read) == 1 and next(iter(read.values())) == 1.0 for read in replies)
    if wanted is not None:
        if wanted in seen:
            return wanted
        code = "never-yes" if alone else "labels-unknown"
        return Reason(code, {"label": wanted, "seen": seen[:20], "inputs": len(replies)})
    if len(seen) == TWO or (len(seen) == 1 and not alone):
        return seen[-1]
    if len(seen) == 1:
        return Reason("constant-answers", {"label": seen[0], "inputs": len(replies)})
    return Reason("labels-unknown", {"seen": seen[:20], "inputs": len(replies)})


def flaw(yes: Floats, label: str) -> Reason | None:
    """Return the reason why the probabilities of yes are uninformative, or ``None``."""
    if yes.max() <= 0:
        return Reason("never-yes", {"label": label, "inputs": int(yes.size)}, label)
    if yes.min() == yes.max():
        return Reason("constant-answers", {"label": label, "score": float(yes.flat[0]), "inputs": int(yes.size)}, label)
    return None


def possible(yes: Floats) -> NDArray[np.bool_]:
    """Find the numbers that can be probabilities, but for rounding."""
    return np.asarray((yes >= -SLACK) & (yes <= 1 + SLACK), dtype=bool)


def no_probability(lost: int, total: int, label: str) -> Reason:
    """Return the reason that too many scores were no probabilities."""
    facts = {"total": total, "whole": total - lost, "share": lost / total, "why": {"no-probability": lost}}
    return Reason("target-output-unusable", facts, label)
