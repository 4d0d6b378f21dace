"""Replies counted by outcome, and questions asked in batches."""

import math
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Generic, TypeVar

from assay.experiment import BUDGET
from assay.model import Failure, Probe, Reply
from assay.rating.component import Counts

BATCH = 500
"""Number of questions in a batch; it may be exceeded so that the questions about one item stay together."""

UNREADABLE = frozenset({"no-echo", "no-choice", "unknown-word", "unknown-label"})
"""Failure codes of answers that the service gave, but that cannot be used."""

UNREAD = UNREADABLE | {"bad-json", "cut-short", "missing-word", "unsupported", "wrong-count", "wrong-shape"}
"""Codes of answers that arrived but could not be parsed: they do not show that the service refused."""

REFUSED_IN_WORDS = "refused-in-words"
REFUSALS = frozenset({REFUSED_IN_WORDS, "empty", "untranslated", "error-marks"})
"""Codes of answers that count as refusals: in words, empty, the unchanged input, or error marks."""

DECLINED = "declined"
"""Failure code of a question that the service chose not to answer."""

_REFUSAL_CODE = re.compile(rf"http-4(?!08|29)\d\d|{DECLINED}")
"""Codes of refused questions: `DECLINED` and HTTP 4xx, but not 408 and 429, after which a request is repeated."""


def refuses(code: str) -> bool:
    """Return whether a failure code means that the service refused the question, rather than a transport error."""
    return _REFUSAL_CODE.fullmatch(code) is not None


def read_number(value: object) -> float | None:
    """Return a finite number; ``None`` for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


I = TypeVar("I")  # noqa: E741 - I for item: a pair or a picture
R = TypeVar("R")

Result = TypeVar("Result")

ExperimentPart = Generator[Sequence[Probe], Sequence[Reply], Result]
"""Part of an experiment: a generator that yields batches of probes, receives replies, and returns a result."""

Asking = ExperimentPart[None]


def ask_in_batches(questions: Iterable[tuple[I, Sequence[Probe]]], take: Callable[[I, list[Reply]], object]) -> Asking:
    """Ask about items in batches, each item within a single batch, and pass the replies about each item to `take`.

    `questions` (items with their probes) are read batch by batch, so that they can end when the budget is used up.
    """
    batch: list[tuple[I, Sequence[Probe]]] = []
    size = 0
    for item, probes in questions:
        batch.append((item, probes))
        size += len(probes)
        if size >= BATCH:
            yield from _ask_batch(batch, take)
            batch, size = [], 0
    if batch:
        yield from _ask_batch(batch, take)


def _ask_batch(questions: Sequence[tuple[I, Sequence[Probe]]], take: Callable[[I, list[Reply]], object]) -> Asking:
    """Send the probes of all items at once, and pass the replies about each item to `take`."""
    all_probes = [probe for _, probes in questions for probe in probes]
    replies: Sequence[Reply] = ()
    if all_probes:  # an item may have no probes
        replies = yield all_probes
    remaining_replies = iter(replies)
    for item, probes in questions:
        take(item, list(islice(remaining_replies, len(probes))))


@dataclass(kw_only=True)
class Tally:
    """Counts of replies by outcome: usable, unusable, failed or not asked."""

    usable: int = 0
    """Number of replies that could be used."""
    unasked: int = 0
    """Number of questions that the budget did not allow."""
    failed_why: Counter[str] = field(default_factory=Counter)
    """Number of failed calls by failure code."""
    unusable_why: Counter[str] = field(default_factory=Counter)
    """Number of unusable replies by reason code."""
    by_group: dict[str, Counter[str]] = field(default_factory=dict)
    """For each group that questions are about, the number of replies by outcome: usable, refused, unread, failed."""

    @property
    def lost(self) -> int:
        """Number of questions that were asked and have no usable reply."""
        return self.unusable_why.total() + self.failed_why.total()

    @property
    def counts(self) -> Counts:
        """Numbers of usable, unusable, failed and unasked questions."""
        return Counts(self.usable, self.unusable_why.total(), self.failed_why.total(), self.unasked)

    @property
    def lost_share(self) -> float:
        """Share of the questions asked that have no usable reply."""
        return self.lost / (self.lost + self.usable) if self.lost else 0.0

    def count_reply(
        self, failure: Failure | None, why_unusable: str | None = None, group: str | None = None
    ) -> str | None:
        """Count one reply; return its outcome (usable, refused, unread or failed), ``None`` if the budget was used up.

        `why_unusable` is the reason why the reply's value is unusable, and is ignored if the call failed. `group` is
        the group that the question is about, if there is one.
        """
        code = None if failure is None else failure.code
        if code == BUDGET:
            self.unasked += 1
            return None
        if code is not None:
            has_answered = code in UNREADABLE or code == DECLINED  # the service replied, without a usable value
            (self.unusable_why if has_answered else self.failed_why)[code] += 1
            outcome = "refused" if refuses(code) else ("unread" if code in UNREAD else "failed")
        elif why_unusable is not None:
            self.unusable_why[why_unusable] += 1
            outcome = "refused" if why_unusable in REFUSALS else "unread"
        else:
            self.usable += 1
            outcome = "usable"
        if group is not None:
            self.count_group(group, outcome)
        return outcome

    def count_group(self, group: str, outcome: str) -> None:
        """Add 1 to the count of an outcome in `by_group`."""
        self.by_group.setdefault(group, Counter())[outcome] += 1


@dataclass
class AnswerTally(Tally, Generic[I, R]):
    """Counts of replies, and results by item (a pair of sentences or a picture), each with one or more replies."""

    results: dict[I, R] = field(default_factory=dict)
    """Result of each item whose replies could be used."""
    items_asked: int = 0
    """Number of items that were asked about, with or without usable replies."""

    def count(
        self, replies: Sequence[Reply], why_unusable: Iterable[str | None], groups: Iterable[str | None] | None = None
    ) -> bool:
        """Count the replies about one item, each by `count_reply`; return whether the budget allowed all of them.

        If it did not, only unasked questions are counted. `why_unusable` and `groups` have an entry for each reply.
        """
        unasked = sum(reply.failure is not None and reply.failure.code == BUDGET for reply in replies)
        self.unasked += unasked
        if unasked:
            return False
        self.items_asked += 1
        reply_groups = repeat(None, len(replies)) if groups is None else groups
        for reply, reason, group in zip(replies, why_unusable, reply_groups, strict=True):
            self.count_reply(reply.failure, reason, group)
        return True
