"""Examination of a language model: which kinds of question it supports.

The kinds, from best to worst, are: to score whole texts by the tokens of the prompt, to fill a gap, and to choose.
An engine that ignores the request for the prompt's tokens would seem unbiased, so the tokens are checked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.catalog.tables import read_table
from assay.model import AUTHORED, Ask, Choose, Failure, Fill, Reply, Score, Write
from workers.egress import CallFailed
from workers.targets.adapter import Adapter
from workers.targets.checks.answer_similarity import MOST_COMPARED, any_differ
from workers.targets.checks.examination import (
    HOPELESS,
    TRIES,
    Calls,
    Capability,
    Examination,
    TargetUnfit,
    comparable,
    readable_text,
    text_of_question,
    unfit,
)
from workers.targets.checks.samples import spread, worded_questions

RUNGS: tuple[type[Ask], ...] = (Score, Fill, Choose)
"""Kinds of question to a language model, the best first."""

_QUESTIONS = read_table("examination")
SAMPLE_QUESTIONS: Mapping[type[Ask], tuple[Ask, ...]] = {
    Score: tuple(map(Score, _QUESTIONS["scored"])),
    Fill: tuple(Fill(before, word, after) for before, word, after in _QUESTIONS["filled"]),
    Choose: tuple(Choose(text, tuple(options)) for text, options in _QUESTIONS["chosen"]),
}
"""Neutral questions by kind, for kinds of question that the experiment does not begin with."""

SAMPLE_PROMPT = Write("Write one short sentence about the weather.")
"""Prompt for an author without an experiment."""

UNREACHABLE = frozenset({"connect", "timeout", "truncated"})
"""Codes of failures of an unreachable service, for which no other kind of question is tried."""

QUESTION_SPECIFIC = frozenset({"unknown-word", "no-choice", "declined", "wrong-shape"})
"""Codes of failures after which another question of the same kind may be answered."""


class ModelExamination(Examination):
    """Examination of a language model in about ten calls, or of an author in one to five.

    Every kind of question is tried. The kind of the experiment, or else the best that works, gets several questions
    alone, one of them twice, and then all in one call. A model is unfit if no kind works, or if a call with several
    questions mixes up its answers.

    `asks` are the first questions of the experiment; if they are requests for texts or images, the target is an author,
    and only has to answer one of them. `rng` draws the other questions; by default they are `SAMPLE_QUESTIONS`.
    """

    def __init__(
        self, adapter: Adapter, asks: Sequence[Ask], calls: Calls, rng: np.random.Generator | None = None
    ) -> None:
        super().__init__(adapter, calls)
        self._draws_texts = rng is not None  # true before a rating: the service must not recognise the test
        self._sample_questions = SAMPLE_QUESTIONS if rng is None else worded_questions(rng)
        # `RUNGS`: questions that a model can be rated by; `AUTHORED`: requests to an author for texts and images
        self._asks_of_kind = {kind: [ask for ask in asks if isinstance(ask, kind)] for kind in (*RUNGS, *AUTHORED)}
        self._retriable_failure: CallFailed | None = None

    async def run(self) -> Capability:
        """Examine an author if only texts or images are asked for, else a model; see `Examination.run`."""
        if any(self._asks_of_kind[kind] for kind in AUTHORED) and not any(self._asks_of_kind[kind] for kind in RUNGS):
            return await self._examine_author()
        return await self._examine_model()

    async def _examine_author(self) -> Capability:
        """Ask an author for texts or images until it makes one; raise `TargetUnfit` if it makes none."""
        failure: Failure | None = None
        for ask in self._author_prompts():
            # retried only until a first transient failure, so that a busy service is waited for once
            reply = await self._ask_alone(ask, TRIES if self._retriable_failure is None else 1)
            if reply.failure is None:
                return self._capability(text_of_question(ask), readable_text(reply.value), rungs=(ask.asks,))
            failure = failure or reply.failure
            self._notes.append(f"a question to {ask.asks} failed ({reply.failure.code})")
        assert failure is not None  # noqa: S101  set, because there is at least one prompt
        hint = "it is the author of the experiment, and has to answer"
        if self._retriable_failure is not None:
            raise unfit(self._retriable_failure, hint)
        raise TargetUnfit(failure.code, failure.message, hint)

    def _author_prompts(self) -> list[Ask]:
        """Return a few questions to an author: one for each prompt first, then others with the same prompts."""
        questions = [ask for kind in AUTHORED for ask in self._asks_of_kind[kind]]
        # reversed, so that the first question of each prompt remains
        question_of_prompt = {text_of_question(ask): ask for ask in reversed(questions)}
        return list(dict.fromkeys([*reversed(question_of_prompt.values()), *questions]))[:MOST_COMPARED]

    async def _examine_model(self) -> Capability:
        """Try all kinds of question; examine the model with the experiment's kind, or else with the best that works."""
        answer_of_kind: dict[type[Ask], tuple[Ask, Reply]] = {}
        failures: dict[type[Ask], Failure] = {}
        for kind in RUNGS:  # the best kind (score a text) first, then fill a gap, and choose an option
            ask, reply = await self._try_kind(kind)
            if reply.failure is None:
                answer_of_kind[kind] = (ask, reply)
            else:
                failures[kind] = reply.failure
        if not answer_of_kind and self._retriable_failure is not None:
            raise unfit(self._retriable_failure)
        if not answer_of_kind:
            raise await self._unanswered_error(failures)
        self._notes += [
            f"it cannot be asked to {kind.asks}: {failure.message} ({failure.code})"
            for kind, failure in failures.items()
        ]
        kind = next((kind for kind in answer_of_kind if self._asks_of_kind[kind]), next(iter(answer_of_kind)))
        ask, reply = answer_of_kind[kind]
        answers_alone = await self._answers_one_by_one(kind, ask, reply.value)
        deterministic = await self._is_deterministic(ask, reply.value)
        order_kept = await self._keeps_order(answers_alone, deterministic)
        await self._note_empty_text(kind)
        return self._capability(
            text_of_question(ask),
            readable_text(reply.value),
            deterministic=deterministic,
            order_kept=order_kept,
            rungs=tuple(kind.asks for kind in answer_of_kind),
        )

    def _is_fatal(self, failure: CallFailed) -> bool:
        """Whether a failed call ends the examination; most retriable errors do not, as they may mean "unsupported"."""
        if failure.code in HOPELESS or (failure.code in UNREACHABLE and self._latency_s is None):  # no answer yet
            return True
        if failure.retriable:
            self._retriable_failure = failure  # raised if no question is answered
        return False

    async def _try_kind(self, kind: type[Ask]) -> tuple[Ask, Reply]:
        """Ask questions of a kind until one is answered or fails as all would; return it (or the first) and a reply."""
        reply = Reply()
        questions = [*self._asks_of_kind[kind], *self._sample_questions[kind]]
        for ask in questions[:MOST_COMPARED]:
            reply = await self._ask_alone(ask)
            if reply.failure is None or reply.failure.code not in QUESTION_SPECIFIC:
                return ask, reply
        return questions[0], reply

    async def _unanswered_error(self, failures: Mapping[type[Ask], Failure]) -> TargetUnfit:
        """Return the error for a model that answers no kind of question, with the reason for each."""
        reason = next((failure for failure in failures.values() if failure.code != "unsupported"), failures[Choose])
        messages = "; ".join(dict.fromkeys(failure.message for failure in failures.values()))  # each once
        writes = (await self._ask_alone(SAMPLE_PROMPT)).failure is None
        author_note = " (it does write: it can be the author of an experiment)" if writes else ""
        return TargetUnfit(
            reason.code,
            f"the service answered no test question{author_note}: {messages}",
            "use a protocol that returns the prompt's tokens, fills masks or chats, with settings that it accepts",
        )

    async def _answers_one_by_one(self, kind: type[Ask], first_question: Ask, first_value: object) -> dict[Ask, Any]:
        """Ask more questions of a kind, each in its own call; return all answers by question, with the given first."""
        answers, failed_count = {first_question: first_value}, 0
        questions = [*spread(self._asks_of_kind[kind], self._adapter, MOST_COMPARED), *self._sample_questions[kind]]
        for ask in dict.fromkeys(questions):
            if len(answers) + failed_count >= MOST_COMPARED:
                break
            if ask in answers or self._adapter.group_key(ask) != self._adapter.group_key(first_question):
                continue
            reply = await self._ask_alone(ask)
            if reply.failure is None:
                answers[ask] = reply.value
            else:
                failed_count += 1
                self._notes.append(f"a question to {ask.asks} failed ({reply.failure.code})")
        self._check_constant(kind, answers)
        return answers

    def _check_constant(self, kind: type[Ask], answers: Mapping[Ask, Any]) -> None:
        """Raise `TargetUnfit` if all texts got the same probability; a constant choice only adds a note."""
        answer_values = [comparable(value) for value in answers.values()]
        if len(answer_values) < 3 or any_differ(answer_values):  # two answers may be equal by chance
            return
        if kind is Choose:
            self._notes.append("it chose the same letter whatever it was asked")
            return
        raise TargetUnfit(
            "constant",
            f"{len(answers)} different texts got the same probability",
            "check the model and the path: the text may not reach the model",
        )

    async def _note_empty_text(self, kind: type[Ask]) -> None:
        """Request the score of an empty text; add a note if the service returns a retriable error or a score."""
        if kind is not Score or self._draws_texts:  # real users send no empty text, so none is sent before a rating
            return
        try:
            reply = (await self._calls.persist(lambda: self._adapter.answer([Score("")]), tries=1))[0]
        except CallFailed as failed:
            if failed.retriable:
                self._notes.append(
                    f"an empty text was answered with {failed.code}: its errors look as if they would pass, and are "
                    "asked again in vain"
                )
            return
        if reply.failure is None:
            self._notes.append("an empty text got a log-probability, which is none of a text")
