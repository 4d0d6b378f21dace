"""Completions behind OpenAI's interface: language models that give the tokens of their prompt back.

vLLM, llama.cpp and many others speak it; not all of them give back what `echo` asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.model import Ask, Choose, Failure, Reply, Score, Write
from workers.egress import CallFailed, Response
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import float_or_infinity
from workers.targets.parsing.echoed_tokens import Echo
from workers.targets.protocols.http.adapter import Request, dig, listed, post_json
from workers.targets.protocols.http.choice_letters import Likelihoods, completed_by_letter, first_line
from workers.targets.protocols.http.language_model import HttpLanguageModel, LanguageModelSettings, Said
from workers.targets.protocols.http.predictor import json_of


@dataclass(frozen=True, kw_only=True)
class OpenAICompletionsSettings(LanguageModelSettings):
    """Settings of a language model behind OpenAI's completions."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Which model answers."""
    echo_max_tokens: Literal[0, 1] = 0
    """Tokens to be written after a prompt that is scored; 1 for engines that refuse to write none."""
    echo_logprobs: Literal[0, 1] = 1
    """How many likely tokens come with each token of a scored prompt; some engines give no probabilities for 0."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] | None = 0
    """Null leaves seeds out, also those that tell several texts of one prompt apart."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Most prompts in one call."""


class OpenAICompletions(HttpLanguageModel[OpenAICompletionsSettings]):
    """Speaks ``/v1/completions`` with a list of prompts."""

    protocol: ClassVar[str] = "openai-completions"
    summary: ClassVar[str] = "Completions (OpenAI's interface): POST /v1/completions, with echo for log-probabilities"
    settings_type: ClassVar[type] = OpenAICompletionsSettings
    answers: ClassVar[tuple[type[Ask], ...]] = (Score, Choose, Write)
    notes: ClassVar[tuple[str, ...]] = (
        "an engine that ignores echo gives all texts one score; tokens that are not the prompt's are refused",
        "an engine that refuses echo with max_tokens 0 needs the setting echo_max_tokens: 1",
        "completions are sorted by their index; services need not answer in order",
        "models that are not made for chats write on and on: give writing_stop",
        "a 429 that says insufficient_quota ends the job; other 429s are waited for",
    )

    def _ask_for(self, asks: Sequence[Worded]) -> Request:
        prompts = [self._prompt(ask) for ask in asks]
        settings = self.settings
        asked = {
            "model": settings.model,
            "prompt": prompts if len(prompts) > 1 else prompts[0],
            "seed": settings.seed,
            **self._wanted(asks[0]),
        }
        body = {name: value for name, value in asked.items() if value is not None}
        return post_json("/v1/completions", body, self._bearer())

    def _prompt(self, ask: Worded) -> str:
        match ask:
            case Choose():
                return completed_by_letter(ask, self.settings.choice_instruction)
            case Write(prompt=prompt):
                return prompt
            case Score(text=text):
                return text
        raise AssertionError(ask.asks)  # pragma: no cover - refused before

    def _wanted(self, ask: Worded) -> dict[str, Any]:
        """Say what a call for questions of one kind asks for; what is ``None`` is left out."""
        settings = self.settings
        match ask:
            case Score():
                return {
                    "max_tokens": settings.echo_max_tokens,
                    "echo": True,
                    "logprobs": settings.echo_logprobs,
                    "temperature": 0.0,
                }
            case Choose():
                return {
                    "max_tokens": settings.choice_tokens,
                    "logprobs": settings.top_logprobs,
                    "temperature": 0.0,
                }
            case _:
                return {
                    "max_tokens": settings.writing_tokens,
                    "temperature": settings.writing_temperature,
                    "seed": None if settings.seed is None else getattr(ask, "number", settings.seed),
                    "stop": list(settings.writing_stop) or None,
                }

    def _read(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        place = response.place
        choices = listed(dig(json_of(response), "choices", place=place), place=place)
        if len(choices) != len(asks):
            raise CallFailed("wrong-count", f"{place} gave {len(choices)} completions for {len(asks)} prompts")
        said: dict[int, Any] = {}
        for choice in choices:
            index = dig(choice, "index", place=place)
            if type(index) is not int or index in said or not 0 <= index < len(asks):
                raise CallFailed(
                    "wrong-shape", f"{place} numbered its {len(asks)} completions otherwise than 0, 1, 2 …"
                )
            said[index] = choice
        return [self._said(said[index], ask, place) for index, ask in enumerate(asks)]

    def _said(self, choice: Any, ask: Worded, place: str) -> Echo | Said | Reply:
        text, logprobs = dig(choice, "text", place=place), choice.get("logprobs")
        told = logprobs if isinstance(logprobs, dict) else {}
        if isinstance(ask, Score):
            return Echo(told.get("tokens"), told.get("token_logprobs"), told.get("text_offset"), text)
        if not isinstance(text, str):
            return Reply(failure=Failure("wrong-shape", f"{place} gave {type(text).__name__} where a text is due"))
        ended = choice.get("finish_reason")
        if isinstance(ask, Choose):
            text = first_line(text)
        first = likely_first(told) if isinstance(ask, Choose) else ()
        return Said(text, first, "length" if ended == "length" else "declined" if ended == "content_filter" else "")


def likely_first(told: dict[str, Any]) -> Likelihoods:
    """Read which tokens could have come first, in either of the two forms in which engines say it; blanks are skipped.

    Parameters
    ----------
    told : dict
        ``{"tokens": […], "top_logprobs": [{token: log-probability}]}``, or ``{"content": [{"token": …,
        "top_logprobs": [{"token": …, "logprob": …}]}]}``.
    """
    tokens, tops, content = told.get("tokens"), told.get("top_logprobs"), told.get("content")
    if isinstance(content, list):
        return first_said(content)
    if not isinstance(tokens, list) or not isinstance(tops, list):
        return ()
    for token, likely in zip(tokens, tops, strict=False):
        if str(token).strip() and isinstance(likely, dict):
            return numbered(likely.items())
    return ()


def first_said(content: Sequence[Any]) -> Likelihoods:
    """Read the likely tokens in the place of the first token that is no blank."""
    for each in content:
        if isinstance(each, dict) and str(each.get("token", "")).strip():
            likely = each.get("top_logprobs")
            pairs = [one for one in likely if isinstance(one, dict)] if isinstance(likely, list) else []
            return numbered([(one.get("token"), one.get("logprob")) for one in pairs])
    return ()


def numbered(pairs: Any) -> Likelihoods:
    """Keep the tokens that have a log-probability."""
    return [
        (token, number)
        for token, value in pairs
        if isinstance(token, str)
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and (number := float_or_infinity(value)) <= 1
    ]
