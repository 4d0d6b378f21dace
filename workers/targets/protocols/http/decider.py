"""Adapter for a language model that decides about cases: a classifier or a regressor behind a prompt.

A *reading* is one of three ways to ask and to read the answer; the first that an answer allows is settled on
(`Decision.readings`). With lettered options, the question is asked once for every rotation of the options, so that a
preference for a position cancels: the score of a label is its mean over the rotations.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.catalog.answer_text import normalise_answer
from assay.document import JsonObject
from assay.model import Ask, Classify, Failure, Kind, Regress, Reply
from workers.targets.adapter import Adapter, Target, questions_for
from workers.targets.parsing.answer_parsing import Misread, ModelFault, quoted
from workers.targets.parsing.written_numbers import FORMS, units_in
from workers.targets.protocols.http import choice_letters
from workers.targets.protocols.http.adapter import HttpAdapter
from workers.targets.protocols.http.decision import Decision, Reading
from workers.targets.protocols.http.decision_reading import (
    declines,
    label_in,
    label_probabilities,
    may_go_on,
    number_in,
    option_in,
)
from workers.targets.protocols.http.language_model import Decide, ModelOutput

UNSETTLED = frozenset({"no-choice", "wrong-shape"})
"""Failure codes of a first answer after which another way of reading answers is tried."""

MOST_SHOWN = 2000
"""Maximum length of a prompt and of an answer that a probe shows, in characters."""

TOKENS = "settings.decision.tokens (null: no limit)"


@dataclass(frozen=True, slots=True)
class DecisionCall:
    """One call of a decision, as a probe (a test question) shows it."""

    reading: Reading
    prompt: str
    """The prompt as sent; a system prompt comes first."""
    answer: str
    """The model's text, with its likely first tokens if they were read; without a text, the failure's message."""
    read: str
    """The parsed answer; empty if it could not be parsed."""


class Decider(Adapter):
    """Classifier or regressor made of a decision and copies of a language model's adapter, one per system prompt."""

    def __init__(self, target: Target, decision: Decision, model_adapter: HttpAdapter[Any, Any]) -> None:
        self.target, self.decision, self.batch_limit = target, decision, 1
        self._sends_system = model_adapter.sends_system
        # a model without system prompts gets their texts at the beginning of the prompt
        system_prompts = decision.systems if self._sends_system else ("",) * len(decision.systems)
        self._models = [_with_system(model_adapter, decision, system) for system in system_prompts]
        number_setting = getattr(model_adapter.settings, "number", None)  # a form of numbers, or "label", which is none
        self._number_form = number_setting if number_setting in FORMS else None
        self._settled_units = units_in(decision.prompt)  # by kind, such as time; shared by the copies
        self.calls: list[DecisionCall] | None = None  # a probe sets a list, in which calls are then recorded
        # at most one way to ask and read, set by `_decide_case`; a list, because copies made by examinations share it
        self._settled_reading: list[Reading] = list(decision.readings) if len(decision.readings) == 1 else []

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Ask the model about one case, in one or several calls; see `Adapter.answer`."""
        questions: tuple[type[Ask], ...] = (Classify,) if self.target.kind is Kind.CLASSIFIER else (Regress,)
        return [await self._decide_case(ask, idempotency_key) for ask in questions_for(questions, asks)]

    async def _decide_case(self, ask: Any, key: str | None) -> Reply:
        """Ask about a case in the `Reading` (way to ask and read) that worked before, or try all until one works."""
        question = self.decision.question(ask.given)
        if question is None:
            cause = "its slots are the columns of a record, and the case lacks one"
            return Reply(failure=Failure("unsupported", f"the prompt cannot be filled in: {cause}"))
        if self._settled_reading:
            return await self._ask_every_system(question, self._settled_reading[0], key)
        reply = Reply()
        for reading in self.decision.readings:
            reply = await self._ask_every_system(question, reading, None if key is None else f"{key}-{reading}")
            if reply.failure is None:
                self._settled_reading[:] = [reading]
                return reply
            if reply.failure.code not in UNSETTLED:  # it would fail in all readings
                return reply
        return reply

    async def _ask_every_system(self, question: str, reading: Reading, key: str | None) -> Reply:
        """Ask with each system prompt; return a number, or scores by label (and by prompt, if there are several)."""
        scores: dict[str, float] = {}
        for index, model in enumerate(self._models):
            system = "" if self._sends_system else self.decision.systems[index]  # not repeated in the prompt
            prompt = "\n\n".join(filter(None, (system, question, self.decision.instruction(reading))))
            reply = await self._ask_model(model, prompt, reading, None if key is None else f"{key}-{index}")
            if reply.failure is not None or self.decision.range is not None:  # a number has one system prompt
                return reply
            name_of_label = self.decision.output_names(index)
            scores |= {name_of_label[label]: score for label, score in reply.value.items()}
        return Reply({"label": None, "scores": scores})

    async def _ask_model(self, model: HttpAdapter[Any, Any], prompt: str, reading: Reading, key: str | None) -> Reply:
        """Ask the model with one system prompt (idempotency `key`); return a number, or the score of each label."""
        labels = self.decision.labels
        if self.decision.range is not None:
            return await self._call_model(model, Decide(prompt, options=(), read=self._read_number), reading, key)
        if reading != "letters":
            parse = self._read_probabilities if reading == "probabilities" else self._read_label
            return await self._call_model(model, Decide(prompt, options=(), read=parse), reading, key)
        mean_scores = dict.fromkeys(labels, 0.0)  # over the rotations, so that a preference for a position cancels
        for rotation in range(len(labels)):
            options = (*labels[rotation:], *labels[:rotation])
            rotation_key = key and f"{key}-{rotation}"
            ask = Decide(prompt, options, read=_letter_reader(options))
            reply = await self._call_model(model, ask, reading, rotation_key)
            if reply.failure is not None:
                return reply
            for label, score in reply.value.items():
                mean_scores[label] += score / len(labels)
        return Reply(mean_scores)

    async def _call_model(self, model: HttpAdapter[Any, Any], ask: Decide, reading: Reading, key: str | None) -> Reply:
        """Make one call, and record it if a probe asks for its calls."""
        if self.calls is None:
            (reply,) = await model.answer([ask], idempotency_key=key)
            return reply
        outputs: list[ModelOutput] = []

        def record_and_read(output: ModelOutput) -> JsonObject | float:
            outputs.append(output)
            return ask.read(output)

        (reply,) = await model.answer([replace(ask, read=record_and_read)], idempotency_key=key)
        system = model.settings.choice_instruction if self._sends_system else ""
        self.calls.append(_describe_call(system, ask, reading, outputs, reply))
        return reply

    # -------------------------------------------------------------------- reading
    def _read_probabilities(self, output: ModelOutput) -> JsonObject:
        """Return the probabilities of the labels if the text is a label; raise `Misread` for others, or without any."""
        if label_in(output.text, self.decision.labels) is None:
            return self._read_label(output)  # raises `Misread`, because the text is no label
        probabilities = label_probabilities(output.answer_tokens, self.decision.labels)
        if probabilities is None:
            raise Misread("returned no probabilities of the labels' first tokens", "no-choice")
        return probabilities

    def _read_label(self, output: ModelOutput) -> JsonObject:
        """Return the score of each label: 1 for the label that the text is, 0 for all others."""
        labels = self.decision.labels
        label = label_in(output.text, labels)
        if label is None or (output.end_reason == "length" and may_go_on(output.text, labels)):
            raise _unreadable_answer(output, f"one of {', '.join(labels)}", labels)
        return {name: float(name == label) for name in labels}

    def _read_number(self, output: ModelOutput) -> float:
        """Return the number, within the decision's range, of which the text consists."""
        assert self.decision.range is not None  # noqa: S101  a regressor has a range
        low, high = self.decision.range
        number = number_in(output.text, (low, high), self._number_form, self.decision.prompt, self._settled_units)
        if number is None or output.end_reason == "length":
            advice = "say in settings.decision.answer how to answer, such as: digits only"
            raise _unreadable_answer(output, f"one number from {low:g} to {high:g}; {advice}")
        return number


def _letter_reader(options: Sequence[str]) -> Callable[[ModelOutput], JsonObject]:
    """Return a function that reads each option's probability; if unknown, 1 for the chosen option, 0 for others."""

    def read_letter(output: ModelOutput) -> JsonObject:
        text = choice_letters.without_thoughts(output.text)
        if choice_letters.bare_letter(text) and text.strip():  # an empty text counts as a bare letter, but chooses none
            letter_shares = choice_letters.letter_shares(output.answer_tokens, len(options))
            total_share = sum(letter_shares)  # the letters' part of the probability of all tokens
            if total_share >= choice_letters.LEAST_SHARE:
                return {option: share / total_share for option, share in zip(options, letter_shares, strict=True)}
        chosen_option = option_in(output.text, options)  # removes thoughts itself
        if chosen_option is None or (output.end_reason == "length" and not choice_letters.bare_letter(text)):
            raise _unreadable_answer(output, f"one of A to {choice_letters.LETTERS[len(options) - 1]}", options)
        return {option: float(option == chosen_option) for option in options}

    return read_letter


def _describe_call(
    system: str, ask: Decide, reading: Reading, outputs: Sequence[ModelOutput], reply: Reply
) -> DecisionCall:
    """Return a call as a probe shows it: its prompt, the model's answer and the parsed answer."""
    answer = str(outputs[0].text) if outputs else ""
    if outputs and outputs[0].answer_tokens and reading != "text":
        token_list = ", ".join(f"{token!r} {math.exp(logprob):.2f}" for token, logprob in outputs[0].answer_tokens)
        answer += f" (first tokens: {token_list})"
    if reply.failure is not None:
        parsed_answer = ""
        answer = answer or reply.failure.message
    elif isinstance(reply.value, dict):
        parsed_answer = ", ".join(f"{label} {score:.2f}" for label, score in reply.value.items())
    else:
        parsed_answer = f"{reply.value:g}"
    prompt = "\n\n".join(filter(None, (system, choice_letters.letter_prompt(ask))))
    return DecisionCall(reading, prompt[:MOST_SHOWN], answer[:MOST_SHOWN], parsed_answer)


def _unreadable_answer(output: ModelOutput, expected: str, labels: Sequence[str] = ()) -> ModelFault:
    """Return the fault of an answer that is a refusal, is cut short or is not what was `expected`."""
    text = choice_letters.without_thoughts(output.text).strip()
    if declines(normalise_answer(text), labels):
        return ModelFault(f"declined: {quoted(text)}", "declined")
    if output.end_reason == "length":
        progress = "it was still thinking" if output.thinking or not text else f"it had written {quoted(text)}"
        return ModelFault(f"reached its limit of tokens before it decided ({progress}); raise {TOKENS}", "no-choice")
    return ModelFault(f"answered {quoted(text) if text else 'nothing'}; expected {expected}", "no-choice")


def _with_system(adapter: HttpAdapter[Any, Any], decision: Decision, system: str) -> HttpAdapter[Any, Any]:
    """Return a copy of a language model's adapter with a system prompt and the decision's limit of tokens."""
    model = copy.copy(adapter)
    model.settings = replace(adapter.settings, choice_instruction=system, choice_tokens=decision.tokens, decision=None)
    model.batch_limit = 1
    return model
