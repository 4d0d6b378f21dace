"""Examinations: a few test questions before a rating, sent alone, repeated, and several in one call.

A fault that could falsify a rating makes the target unfit; other findings become notes.
"""

import asyncio
import copy
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar
from uuid import uuid4

from assay.document import JsonObject
from assay.model import Ask, Choose, Classify, Embed, Failure, Fill, Look, Regress, Reply, Score, Translate
from workers.egress import CallFailed, Quoter
from workers.targets.adapter import Adapter
from workers.targets.checks.answer_similarity import CLOSE, MOST_COMPARED, ROUNDING, Order, difference, order_of
from workers.targets.checks.samples import SHAPES, sample_images

TRIES = 8
"""Maximum attempts at a call: a service that fails half of the time at random is rejected one time in 256."""

FEW_TRIES = 3
"""Maximum attempts at a call that times out, because each takes the whole deadline, or that can be left out."""

BACKOFF_S, BACKOFF_CAP_S, WAIT_CAP_S = 0.1, 2.0, 10.0
"""Seconds: the first pause before a retry, the longest one, and the longest pause that a service can request."""

HOPELESS = frozenset({"refused-address", "tls", "auth", "quota"})
"""Codes of failures after which every other question would fail as well."""

T = TypeVar("T")

MEND_ARRAYS = "an answer could be taken for another question's; mend the service's answers to lists"

ONE_BY_ONE = {
    Order.CROSSED: "answers vary, so the order of several in one call could not be checked; they are sent one by one",
    Order.CHANGED: "questions in one call got other answers than alone; they are sent one by one",
    Order.UNSEEN: "all answers were alike, so the order of several in one call could not be checked; they are sent "
    "one by one",
}
"""Notes on why questions are sent one by one, by the result of `order_of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """Result of an examination; ``None`` stands for a property that could not be determined."""

    adapter: Adapter
    """Adapter for the job: the examined adapter, or a copy that sends one question per call."""
    latency_s: float
    """Duration in seconds of the first successful call, without failed calls before it."""
    deterministic: bool | None = None
    """Whether the same question got the same answer twice."""
    batch: bool
    """Whether a call may carry several questions."""
    order_kept: bool | None = None
    """Whether the answers of a call with several questions came in order."""
    truncates_at: int | None = None
    """Length in characters of the long text that a translator refused; ``None`` if it refused none."""
    notes: tuple[str, ...]
    asked: str
    """A question that was sent, as text."""
    returned: str
    """The answer to the question `asked`, as text."""
    calls: int
    """Number of calls, including repetitions."""
    dimensions: int | None = None
    """Dimensions of an embedder's vectors."""
    labels: tuple[str, ...] | None = None
    """Labels in the answers of a classifier."""
    rungs: tuple[str, ...] | None = None
    """Kinds of question that a language model answers, the best first: ``score``, ``fill``, ``choose``; for an author
    ``write`` or ``draw``.
    """

    def as_json(self) -> JsonObject:
        """Return the result without the adapter, with samples cleaned to be shown to people."""
        document = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "adapter"}
        return document | {name: Quoter().clean(document[name]) for name in ("asked", "returned")}


class TargetUnfit(Exception):
    """The target cannot be rated as it is; `message` is the fault, `hint` its remedy.

    The code is ``unsupported-language``, ``empty`` or ``truncates`` (translators); ``constant``, ``vector-length`` or
    ``label-set`` (others); ``unsupported`` or ``no-echo`` (language models); ``out-of-order``, ``wrong-count``, or
    that of the failed call, `failure`. If this call is retriable, the target may be fit later.
    """

    def __init__(self, code: str, message: str, hint: str, failure: CallFailed | None = None) -> None:
        super().__init__(f"{message}; {hint}")
        self.code, self.message, self.hint, self.failure = code, message, hint, failure


def one_question_per_call(adapter: Adapter) -> Adapter:
    """Return a copy of an adapter that sends one question per call."""
    single_adapter = copy.copy(adapter)
    single_adapter.batch_limit = 1
    return single_adapter


def unfit(failure: CallFailed, hint: str = "") -> TargetUnfit:
    """Return the error for a failed call that makes the target unfit; `hint` is the advice to its owner."""
    default = "check the address, or try again later" if failure.retriable else "mend this before asking for a rating"
    return TargetUnfit(failure.code, failure.message, hint or default, failure)


async def return_at_once() -> None:
    """Return at once: the default of `Calls.wait_for_turn`, without limits."""


@dataclass
class Calls:
    """Caller that retries and counts an examination's calls; `wait_for_turn` waits for the target's limits."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    wait_for_turn: Callable[[], Awaitable[None]] = return_at_once
    count: int = field(default=0, init=False)
    latency_s: float = field(default=0.0, init=False)
    """Duration in seconds of the latest attempt."""

    async def persist(self, call: Callable[[], Awaitable[T]], tries: int = TRIES) -> T:
        """Make a call, and retry it after a retriable failure."""
        for attempt in range(1, tries + 1):
            self.count += 1
            await self.wait_for_turn()
            start = self.clock()
            try:
                return await call()
            except CallFailed as failed:
                most_attempts = min(FEW_TRIES, tries) if failed.code == "timeout" else tries
                if not failed.retriable or attempt >= most_attempts:
                    raise
                requested_pause_s = failed.retry_after_s
            finally:
                self.latency_s = self.clock() - start
            backoff_s = min(BACKOFF_CAP_S, BACKOFF_S * 2 ** (attempt - 1))
            await self.sleep(backoff_s if requested_pause_s is None else min(requested_pause_s, WAIT_CAP_S))
        raise AssertionError("the last try returns or raises")  # pragma: no cover


class Examination(ABC):
    """Base class of the examinations (test questions before a rating), one for each group of service kinds."""

    @abstractmethod
    async def run(self) -> Capability:
        """Examine the target, or raise `TargetUnfit` if it cannot be rated."""

    def __init__(self, adapter: Adapter, calls: Calls) -> None:
        self._adapter, self._calls = adapter, calls
        self._notes: list[str] = []
        self._latency_s: float | None = None

    def _capability(self, question: str, returned: str, *, order_kept: bool | None = None, **facts: Any) -> Capability:
        """Build the result. Questions are sent one by one unless a call with several questions kept their order."""
        return Capability(
            adapter=self._adapter if order_kept else one_question_per_call(self._adapter),
            latency_s=self._latency_s or 0.0,
            batch=order_kept is True,
            notes=tuple(self._notes),
            asked=question,
            returned=returned,
            calls=self._calls.count,
            order_kept=order_kept,
            **facts,
        )

    def _is_fatal(self, failure: CallFailed) -> bool:
        """Whether a failed call makes the target unfit, since every other question would fail as well."""
        return failure.code in HOPELESS or (failure.retriable and self._latency_s is None)

    async def _ask_alone(self, ask: Ask, tries: int = TRIES) -> Reply:
        """Ask one question alone; return a failure as a reply unless it is fatal.

        The call has an idempotency key, as all calls have, so that a service cannot recognise a test by a missing key.
        """
        key = str(uuid4())
        try:
            replies = await self._calls.persist(lambda: self._adapter.answer([ask], idempotency_key=key), tries)
        except CallFailed as failed:
            if self._is_fatal(failed):
                raise unfit(failed) from None
            return Reply(failure=Failure(failed.code, failed.message))
        if replies[0].failure is None and self._latency_s is None:
            self._latency_s = self._calls.latency_s
        return replies[0]

    async def _is_deterministic(self, ask: Ask, first_answer: object) -> bool | None:
        """Repeat a question; return whether the answer is the same, or ``None`` if the repetition failed."""
        reply = await self._ask_alone(ask)
        if reply.failure is not None:
            self._notes.append(f"whether it is deterministic could not be seen ({reply.failure.code})")
            return None
        distance = self._answer_distance(first_answer, reply.value)
        if distance > ROUNDING:
            self._notes.append("the same question got two different answers: the service is not deterministic")
        elif distance > 0:
            self._notes.append(f"the same question got answers that differ by rounding ({distance:.1g} of their size)")
        return distance <= ROUNDING

    def _answer_distance(self, answer: Any, other_answer: Any) -> float:
        return difference(comparable(answer), comparable(other_answer))

    async def _keeps_order(self, answers_alone: Mapping[Any, Any], deterministic: bool | None) -> bool | None:
        """Repeat questions in one call; return whether the answers came in order, or ``None`` if that is unknown."""
        if self._adapter.batch_limit == 1:
            return None
        # the last questions: the first answers may be alike, if questions were asked until two answers differed
        questions = list(answers_alone)[-min(MOST_COMPARED, self._adapter.batch_limit) :]
        if len(questions) < 2:
            self._notes.append("one question is too few to see the order of several; they are sent one by one")
            return None
        single_answers = [comparable(answers_alone[question]) for question in questions]
        joint_answers = await self._ask_in_one_call(questions)
        if joint_answers is None:
            return None
        order = order_of(single_answers, joint_answers)
        if order is Order.CROSSED and deterministic:
            repeated_answers = await self._ask_in_one_call(questions)
            # the repeated call has the same wrong order, so the order is not accidental
            if repeated_answers is not None and max(map(difference, joint_answers, repeated_answers)) <= CLOSE:
                raise TargetUnfit(
                    "out-of-order",
                    f"{len(single_answers)} questions in one call got their answers in another order",
                    MEND_ARRAYS,
                )
            self._notes.append("the answers of one call came in another order once; questions are sent one by one")
            return False
        if order is Order.KEPT:
            return True
        self._notes.append(ONE_BY_ONE[order])
        return None

    async def _ask_in_one_call(self, questions: Sequence[Ask]) -> list[Any] | None:
        """Ask all questions in one call; return comparable answers, or ``None`` (and add a note) if that failed."""
        key = str(uuid4())
        try:
            replies = await self._calls.persist(lambda: self._adapter.answer(questions, idempotency_key=key))
        except CallFailed as failed:
            if failed.code == "wrong-count":
                raise TargetUnfit(failed.code, failed.message, MEND_ARRAYS) from None
            self._notes.append(f"several questions in one call failed ({failed.code}); they are sent one by one")
            return None
        failure = next((reply.failure for reply in replies if reply.failure), None)
        if failure is not None:
            self._notes.append(f"questions failed in one call, not alone ({failure.code}); they are sent one by one")
            return None
        return [comparable(reply.value) for reply in replies]


def comparable(value: object) -> Any:
    """Return the part of an answer that can be compared: for a language model, a number or the choice as a label."""
    match value:
        case {"log_probability": number} | {"probability": number}:
            return number
        case {"choice": option_index}:
            return {"label": str(option_index), "scores": None}
        case _:
            return value


def readable_text(value: object) -> str:
    """Return the content of a question or an answer for people: its text, the first numbers of a vector, or JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        numbers = ", ".join(f"{number:.4g}" for number in value[:4])
        return f"{len(value)} numbers: {numbers}{' …' if len(value) > 4 else ''}"
    document = dict(value) if isinstance(value, tuple) else value  # a record is a tuple of pairs: column name, cell
    return json.dumps(document, ensure_ascii=False)


def text_of_question(ask: Ask) -> str:
    """Return a question as text, to be shown to people."""
    match ask:
        case Score(text=text):
            return text
        case Fill(before=before, word=word, after=after):
            return f"{before}[{word}]{after}"
        case Choose(text=text, options=options):
            return f"{text} {' / '.join(options)}"
        case Look(image=image, labels=labels, question=question):
            shapes = dict(zip(sample_images(), SHAPES, strict=True))
            return f"{shapes.get(image, image)}: {question or 'which label fits?'} ({', '.join(labels)})"
        case Classify(given=content) | Regress(given=content) | Embed(text=content):
            return readable_text(content)
        case Translate(text=text, source=source, target=target):
            return f"{source} to {target}: {text}"
        case _:
            return str(getattr(ask, "prompt", ask))
