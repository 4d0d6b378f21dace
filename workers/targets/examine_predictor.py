"""Whether a classifier, a regressor or an embedder can be rated.

Questions are asked alone, one of them twice, and then all in one call. An answer that is not the
same in company as alone cannot be trusted to belong to its question.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from assay.model import Failure, Reply
from workers.egress import CallFailed
from workers.targets.adapter import Adapter, Prediction
from workers.targets.capability import (
    HOPELESS,
    MEND_ARRAYS,
    NOT_DETERMINISTIC,
    Calls,
    Capability,
    TargetUnfit,
    at_once,
    one_by_one,
    unfit,
)
from workers.targets.consistency import check_answers, labels_in
from workers.targets.http_predictor import given_in
from workers.targets.likeness import CLOSE, MOST_COMPARED, ROUNDING, Order, difference, order_of, told_apart
from workers.targets.samples import HINT, Samples, spread

MOST_ASKED = 10
"""Questions asked alone, while all answers are alike."""

NOT_KNOWN = "missing-word"
"""Failure of a word an embedding does not have: how many are missing is the experiment's to judge."""

SHOWN = 300
"""Characters of a sample that are kept."""


async def examine_predictor(
    adapter: Adapter,
    samples: Samples,
    clock: Callable[[], float] = time.monotonic,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    turn: Callable[[], Awaitable[None]] = at_once,
) -> Capability:
    """Examine a classifier, regressor or embedder in about seven calls.

    A service whose answers to several questions come in another number or order is not rated, nor is
    one whose vectors differ in length or not at all, or whose labels change. Where the order could
    not be seen, the result's `adapter` asks one by one, which is always safe.

    Parameters
    ----------
    adapter : Adapter
        The target.
    samples : Samples
        Questions to try it with.
    clock : callable
        Seconds, for the latency.
    sleep : callable
        Waits between tries.
    turn : callable
        Waits before each call, as the target's limits ask.

    Raises
    ------
    TargetUnfit
        If a rating would not be worth its name.
    """
    return await _Examination(adapter, samples, Calls(clock, sleep, turn)).run()


class _Examination:
    def __init__(self, adapter: Adapter, samples: Samples, calls: Calls) -> None:
        self._adapter, self._calls = adapter, calls
        self._questions = spread(samples.questions, adapter, MOST_ASKED)
        if not self._questions:
            raise ValueError("an examination needs a question")
        self._hint = HINT if samples.ours else ""
        self._notes: list[str] = []
        self._latency_s: float | None = None

    async def run(self) -> Capability:
        alone = await self._alone()
        asked, returned = next(iter(alone.items()), (self._questions[0], None))
        deterministic = order_kept = None
        if alone:
            self._notes += check_answers(list(alone.values()))
            deterministic = await self._again(asked, returned)
            order_kept = await self._several(alone, deterministic) if self._adapter.batch_limit > 1 else None
        return Capability(
            adapter=self._adapter if order_kept else one_by_one(self._adapter),
            latency_s=self._latency_s or 0.0,
            deterministic=deterministic,
            batch=order_kept is True,
            order_kept=order_kept,
            truncates_at=None,
            notes=tuple(self._notes),
            asked=shown(given_in(asked)),
            returned="" if returned is None else shown(returned),
            calls=self._calls.made,
            dimensions=len(returned) if isinstance(returned, list) else None,
            labels=labels_in(list(alone.values())),
        )

    async def _alone(self) -> dict[Prediction, Any]:
        """Ask questions one by one, until there are some answers that can be told apart."""
        answers: dict[Prediction, Any] = {}
        lost: list[Failure] = []
        for question in self._questions:
            reply = await self._first(question) if not answers else await self._one(question)
            if reply.failure is None:
                answers[question] = reply.value
            else:
                lost.append(reply.failure)
            if len(answers) >= MOST_COMPARED and (self._adapter.batch_limit == 1 or told_apart([*answers.values()])):
                break
        why = next((failure for failure in lost if failure.code != NOT_KNOWN), None)
        if not answers and why is not None:
            hint = self._hint or "check the kind, the settings and the protocol's notes"
            raise TargetUnfit(why.code, why.message, hint)
        if lost:
            self._notes.append(f"{len(lost)} of {len(lost) + len(answers)} questions failed ({lost[0].code})")
        return answers

    async def _first(self, question: Prediction) -> Reply:
        """Ask what everything else depends on; only a failure of this question alone is a reply."""
        try:
            replies, latency_s = await self._calls.timed(lambda: self._adapter.answer([question]))
        except CallFailed as failed:
            if failed.retriable or failed.code in HOPELESS:
                raise unfit(failed) from None
            return Reply(failure=Failure(failed.code, failed.message))
        if replies[0].failure is None:
            self._latency_s = latency_s
        return replies[0]

    async def _one(self, question: Prediction) -> Reply:
        try:
            return (await self._calls.persist(lambda: self._adapter.answer([question])))[0]
        except CallFailed as failed:
            return Reply(failure=Failure(failed.code, failed.message))

    async def _again(self, question: Prediction, before: Any) -> bool | None:
        reply = await self._one(question)
        if reply.failure is not None:
            self._notes.append(f"whether it is deterministic could not be seen ({reply.failure.code})")
            return None
        apart = difference(before, reply.value)
        if apart > ROUNDING:
            self._notes.append(NOT_DETERMINISTIC)
        elif apart > 0:
            self._notes.append(f"the same question got answers that differ by rounding ({apart:.1g} of their size)")
        return apart <= ROUNDING

    async def _several(self, alone: dict[Prediction, Any], deterministic: bool | None) -> bool | None:
        """Ask questions again in one call; ``True`` if their order was kept, ``None`` if it could not be seen."""
        count = min(MOST_COMPARED, self._adapter.batch_limit)
        questions = list(alone)[-count:]  # the last is the one that was told apart
        if len(questions) < 2:
            self._notes.append("one question is too few to see the order of several; they are sent one by one")
            return None
        own = [alone[question] for question in questions]
        together = await self._together(questions)
        if together is None:
            return None
        order = order_of(own, together)
        if order is Order.CROSSED and deterministic:
            again = await self._together(questions)
            if again is not None and max(map(difference, together, again)) <= CLOSE:  # it is not chance
                raise TargetUnfit(
                    "out-of-order", f"{len(own)} questions in one call got their answers in another order", MEND_ARRAYS
                )
            self._notes.append("the answers of one call came in another order once; questions are sent one by one")
            return False
        if order is Order.KEPT:
            return True
        self._notes.append(ONE_BY_ONE[order])
        return None

    async def _together(self, questions: Sequence[Prediction]) -> list[Any] | None:
        """Ask all in one call; ``None``, with a note, where that failed."""
        try:
            replies = await self._calls.persist(lambda: self._adapter.answer(questions))
        except CallFailed as failed:
            if failed.code == "wrong-count":
                raise TargetUnfit(failed.code, failed.message, MEND_ARRAYS) from None
            self._notes.append(f"several questions in one call failed ({failed.code}); they are sent one by one")
            return None
        failure = next((reply.failure for reply in replies if reply.failure), None)
        if failure is not None:
            self._notes.append(f"questions failed in one call, not alone ({failure.code}); they are sent one by one")
            return None
        return [reply.value for reply in replies]


ONE_BY_ONE = {
    Order.CROSSED: "answers vary, so the order of several in one call could not be checked; they are sent one by one",
    Order.CHANGED: "questions in one call got other answers than alone; they are sent one by one",
    Order.UNSEEN: "all answers were alike, so the order of several in one call could not be checked; they are sent "
    "one by one",
}
"""Why questions do not share a call."""


def shown(value: Any) -> str:
    """Write a sample for people: a text as it is, a vector by its length and beginning, the rest as JSON."""
    if isinstance(value, str):
        return value[:SHOWN]
    if isinstance(value, list):
        some = ", ".join(f"{number:.4g}" for number in value[:4])
        return f"{len(value)} numbers: {some}{' …' if len(value) > 4 else ''}"
    return json.dumps(dict(value) if isinstance(value, tuple) else value, ensure_ascii=False)[:SHOWN]
