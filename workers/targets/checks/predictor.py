"""Examination of a classifier, a regressor or an embedder.

Questions are asked alone, one of them twice, and then all in one call, to detect answers in the wrong order.
"""

from __future__ import annotations

from typing import Any

from assay.model import Failure
from workers.targets.adapter import Adapter, Prediction
from workers.targets.checks.answer_similarity import MOST_COMPARED, told_apart
from workers.targets.checks.capability import Capability, TargetUnfit
from workers.targets.checks.consistency import check_answers, labels_in
from workers.targets.checks.examination import Calls, Examination, shown
from workers.targets.checks.samples import HINT, Samples, spread
from workers.targets.protocols.http.predictor import given_in

MOST_ASKED = 10
"""Maximum number of questions that are asked alone while all answers are alike."""

NOT_KNOWN = "missing-word"
"""Failure of a word outside an embedding's vocabulary; the experiment decides how many may be missing."""


class PredictorExamination(Examination):
    """Examination of a classifier, regressor or embedder, in about seven calls.

    A service is unfit if a call with several questions mixes up its answers, if its vectors have different lengths or
    are all equal, or if its labels change.
    """

    def __init__(self, adapter: Adapter, samples: Samples, calls: Calls) -> None:
        super().__init__(adapter, calls)
        self._questions = spread(samples.questions, adapter, MOST_ASKED)
        if not self._questions:
            raise ValueError("an examination needs a question")
        self._hint = HINT if samples.ours else ""

    async def run(self) -> Capability:
        """Examine the target."""
        alone = await self._alone()
        question, returned = next(iter(alone.items()), (self._questions[0], None))
        deterministic = order_kept = None
        if alone:
            self._notes += check_answers(list(alone.values()))
            deterministic = await self._again(question, returned)
            order_kept = await self._several(alone, deterministic)
        return self._found(
            shown(given_in(question)),
            "" if returned is None else shown(returned),
            deterministic=deterministic,
            order_kept=order_kept,
            dimensions=len(returned) if isinstance(returned, list) else None,
            labels=labels_in(list(alone.values())),
        )

    async def _alone(self) -> dict[Prediction, Any]:
        """Ask questions one by one, until enough answers differ."""
        answers: dict[Prediction, Any] = {}
        lost: list[Failure] = []
        for question in self._questions:
            reply = await self._one(question)
            if reply.failure is None:
                answers[question] = reply.value
            else:
                lost.append(reply.failure)
            if len(answers) >= MOST_COMPARED and (self._adapter.batch_limit == 1 or told_apart([*answers.values()])):
                break
        failure = next((failure for failure in lost if failure.code != NOT_KNOWN), None)
        if not answers and failure is not None:
            hint = self._hint or "check the kind, the settings and the protocol's notes"
            raise TargetUnfit(failure.code, failure.message, hint)
        if lost:
            self._notes.append(f"{len(lost)} of {len(lost) + len(answers)} questions failed ({lost[0].code})")
        return answers
