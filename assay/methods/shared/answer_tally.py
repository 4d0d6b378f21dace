"""Counts of what became of questions about sentence pairs or pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from assay.experiment import BUDGET
from assay.model import Reply
from assay.rating.component import Counts

UNREADABLE = frozenset({"no-echo", "no-choice", "unknown-word", "unknown-label"})
"""Failures of a service that answered, but with nothing that could be used."""

I = TypeVar("I")  # noqa: E741 - a pair or a picture
R = TypeVar("R")


@dataclass
class AnswerTally(Generic[I, R]):
    """What became of the questions about pairs or pictures.

    Attributes
    ----------
    results : dict
        The pairs or pictures with replies that could be used, each with its result.
    asked : int
        Pairs or pictures that were asked about, whatever came back.
    usable, unasked : int
        Replies that could be used; questions the budget did not allow.
    failed_why, unusable_why : Counter of str
        Failed calls, and replies of no use, by reason.
    """

    results: dict[I, R] = field(default_factory=dict)
    asked: int = 0
    usable: int = 0
    unasked: int = 0
    failed_why: Counter[str] = field(default_factory=Counter)
    unusable_why: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Counts:
        """Usable, unusable, failed and unasked questions."""
        return Counts(self.usable, self.unusable_why.total(), self.failed_why.total(), self.unasked)

    def count(self, replies: Sequence[Reply], wrong: Iterable[str | None]) -> bool:
        """Count the replies about one pair or picture; return whether the budget allowed all of its questions.

        Parameters
        ----------
        replies : sequence of Reply
            To each question about it.
        wrong : iterable of str or None
            Why the value of each reply is of no use, or ``None``. Ignored where the call failed.
        """
        codes = [None if reply.failure is None else reply.failure.code for reply in replies]
        self.unasked += codes.count(BUDGET)
        if BUDGET in codes:
            return False
        self.asked += 1
        for code, why in zip(codes, wrong, strict=True):
            if code is not None:
                (self.unusable_why if code in UNREADABLE else self.failed_why)[code] += 1
            elif why is not None:
                self.unusable_why[why] += 1
            else:
                self.usable += 1
        return True
