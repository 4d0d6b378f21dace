"""Replies counted by outcome, and questions asked in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from assay.experiment import BUDGET
from assay.model import Probe, Reply
from assay.rating.component import Counts

BATCH = 500
"""Questions asked at once, give or take those about one item."""

UNREADABLE = frozenset({"no-echo", "no-choice", "unknown-word", "unknown-label"})
"""Failures of a service that answered, but with nothing that could be used."""

I = TypeVar("I")  # noqa: E741 - I for item: a pair or a picture
R = TypeVar("R")

Asking = Generator[Sequence[Probe], Sequence[Reply], None]


def ask_in_batches(questions: Iterable[tuple[I, Sequence[Probe]]], take: Callable[[I, list[Reply]], object]) -> Asking:
    """Ask about items, those about one item in one batch, and hand the replies about each to `take`.

    `questions` is read batch by batch, so that it can end when the budget is used up.
    """
    waiting: list[tuple[I, Sequence[Probe]]] = []
    size = 0
    for question in questions:
        waiting.append(question)
        size += len(question[1])
        if size >= BATCH:
            yield from _ask(waiting, take)
            waiting, size = [], 0
    if waiting:
        yield from _ask(waiting, take)


def _ask(questions: Sequence[tuple[I, Sequence[Probe]]], take: Callable[[I, list[Reply]], object]) -> Asking:
    replies = iter((yield [probe for _, probes in questions for probe in probes]))
    for item, probes in questions:
        take(item, list(islice(replies, len(probes))))


@dataclass(kw_only=True)
class Tally:
    """Counts of replies by outcome.

    Attributes
    ----------
    usable, unasked : int
        Replies that could be used; questions the budget did not allow.
    failed_why, unusable_why : Counter of str
        Failed calls, and replies of no use, by reason.
    """

    usable: int = 0
    unasked: int = 0
    failed_why: Counter[str] = field(default_factory=Counter)
    unusable_why: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Counts:
        """Usable, unusable, failed and unasked questions."""
        return Counts(self.usable, self.unusable_why.total(), self.failed_why.total(), self.unasked)

    def count_reply(self, reply: Reply, wrong: str | None = None) -> None:
        """Count one reply; `wrong` is why its value is of no use, and is ignored where the call failed."""
        code = None if reply.failure is None else reply.failure.code
        if code == BUDGET:
            self.unasked += 1
        elif code is not None:
            (self.unusable_why if code in UNREADABLE else self.failed_why)[code] += 1
        elif wrong is not None:
            self.unusable_why[wrong] += 1
        else:
            self.usable += 1


@dataclass
class AnswerTally(Tally, Generic[I, R]):
    """Counts of the replies about pairs or pictures, several about each.

    Attributes
    ----------
    results : dict
        The pairs or pictures with replies that could be used, each with its result.
    asked : int
        Pairs or pictures that were asked about, whatever came back.
    """

    results: dict[I, R] = field(default_factory=dict)
    asked: int = 0

    def count(self, replies: Sequence[Reply], wrong: Iterable[str | None]) -> bool:
        """Count the replies about one item, each as `count_reply`; return whether the budget allowed all of them.

        Where it did not, the other replies about the item are not counted.
        """
        cut = sum(reply.failure is not None and reply.failure.code == BUDGET for reply in replies)
        self.unasked += cut
        if cut:
            return False
        self.asked += 1
        for reply, why in zip(replies, wrong, strict=True):
            self.count_reply(reply, why)
        return True
