"""What came back for generated inputs, and which of it is the yes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.experiment import BUDGET
from assay.methods.shared.answers import Answers, read_classes
from assay.methods.shared.profiles import Case
from assay.model import Reason, Reply
from assay.rating.component import Counts
from assay.statistics.bayes.importance import SLACK

Floats = NDArray[np.float64]

OUTPUT = "output"
"""Name of the component before its label is known."""

TWO = 2
"""Labels of which the last is the yes, where none is named."""


@dataclass
class Heard:
    """What came back so far, by the name of what was asked.

    Attributes
    ----------
    replies : dict
        Replies under each value, or the one reply, of each input.
    """

    replies: dict[str, tuple[Reply, ...]] = field(default_factory=dict)

    def answers(self, cases: Sequence[Case], values: Sequence[str]) -> Answers:
        """Give the answers to some of the profiles."""
        answers = Answers(tuple(cases), tuple(values), numbers=False)
        for place, case in enumerate(answers.cases):
            for value, reply in enumerate(self.replies.get(case.name, ())):
                answers.take(place, value, reply)
        return answers

    @property
    def counts(self) -> Counts:
        """What became of all questions."""
        became = Counter(_became(reply) for replies in self.replies.values() for reply in replies)
        return Counts(became["usable"], became["unusable"], became["failed"], became["unasked"])

    @property
    def why(self) -> tuple[dict[str, int], dict[str, int]]:
        """Why replies failed, and why they could not be read, with how many of each."""
        replies = [reply for held in self.replies.values() for reply in held]
        failed = Counter(
            reply.failure.code for reply in replies if reply.failure is not None and reply.failure.code != BUDGET
        )
        unusable = sum(_became(reply) == "unusable" for reply in replies)
        return dict(failed), {"no-label": unusable} if unusable else {}


def _became(reply: Reply) -> str:
    if reply.failure is not None:
        return "unasked" if reply.failure.code == BUDGET else "failed"
    return "unusable" if read_classes(reply.value) is None else "usable"


# ---------------------------------------------------------------------------- the yes
def choose_label(replies: Sequence[Mapping[str, float]], wanted: str | None) -> str | Reason:
    """Say which label is the yes: the one that is named, or of two the last.

    Parameters
    ----------
    replies : sequence of mapping of str to float
        Labels with their scores; at least one reply.
    wanted : str or None
        As the request names it.

    Returns
    -------
    str or Reason
        A reason where it cannot be known, or where no reply can be a yes.
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
    """Say why probabilities of yes tell nothing of what makes it."""
    if yes.max() <= 0:
        return Reason("never-yes", {"label": label, "inputs": int(yes.size)}, label)
    if yes.min() == yes.max():
        return Reason("constant-answers", {"label": label, "score": float(yes.flat[0]), "inputs": int(yes.size)}, label)
    return None


def possible(yes: Floats) -> NDArray[np.bool_]:
    """Say which numbers can be probabilities; services round."""
    return np.asarray((yes >= -SLACK) & (yes <= 1 + SLACK), dtype=bool)


def no_probability(lost: int, total: int, label: str) -> Reason:
    """Say that too many scores were none."""
    facts = {"total": total, "whole": total - lost, "share": lost / total, "why": {"no-probability": lost}}
    return Reason("target-output-unusable", facts, label)
