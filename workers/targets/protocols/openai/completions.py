"""Adapter for the completions endpoint of OpenAI's API: language models that can echo their prompt's tokens.

vLLM, llama.cpp and many others implement it; not all of them support `echo`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import JsonObject
from assay.model import Ask, Choose, Reply, Score, Write
from workers.egress import Response
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread, float_or_infinity
from workers.targets.parsing.echoed_tokens import Echo
from workers.targets.protocols.http.adapter import Request, dig, post_json, sort_by_index, without_nulls
from workers.targets.protocols.http.choice_letters import Likelihoods, first_line
from workers.targets.protocols.http.language_model import (
    HttpLanguageModel,
    LanguageModelSettings,
    ModelOutput,
    prompt_of,
)
from workers.targets.protocols.http.predictor import json_of


@dataclass(frozen=True, kw_only=True)
class OpenAICompletionsSettings(LanguageModelSettings):
    """Settings of a language model behind OpenAI's completions."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Which model answers."""
    echo_max_tokens: Literal[0, 1] = 0
    """Number of tokens to write after a scored prompt; 1 for engines that refuse 0."""
    echo_logprobs: Literal[0, 1] = 1
    """Number of likely tokens to return for each token of a scored prompt; for 0, some engines return none at all."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] | None = 0
    """Seed; null leaves seeds out, including those that make several texts of one prompt differ."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Most prompts in one call."""


class OpenAICompletions(HttpLanguageModel[OpenAICompletionsSettings]):
    """Adapter for ``/v1/completions`` with a list of prompts."""

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

    def _build_request(self, asks: Sequence[Worded]) -> Request:
        """Build the request for several prompts of one kind."""
        settings = self.settings
        prompts = [prompt_of(ask, settings.choice_instruction) for ask in asks]
        body = {
            "model": settings.model,
            "prompt": prompts if len(prompts) > 1 else prompts[0],
            "seed": settings.seed,
            **self._parameters(asks[0]),
        }
        return post_json("/v1/completions", without_nulls(body))

    def _parameters(self, ask: Worded) -> JsonObject:
        """Return the parameters to echo a scored prompt, to choose an option or to write a text."""
        settings = self.settings
        match ask:
            case Score():
                tokens, logprobs = settings.echo_max_tokens, settings.echo_logprobs
                return {"max_tokens": tokens, "echo": True, "logprobs": logprobs, "temperature": 0.0}
            case Choose():
                return {"max_tokens": settings.choice_tokens, "logprobs": settings.top_logprobs, "temperature": 0.0}
            case _:
                return {
                    "max_tokens": settings.writing_tokens,
                    "temperature": settings.writing_temperature,
                    "seed": None if settings.seed is None else getattr(ask, "number", settings.seed),
                    "stop": list(settings.writing_stop) or None,
                }

    def _parse_response(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        choices = dig(json_of(response), "choices")
        choices = sort_by_index(choices, len(asks), answers="completions", questions="prompts")
        return [self._output_of(choice, ask, response.origin) for choice, ask in zip(choices, asks, strict=True)]

    def _output_of(self, choice: Any, ask: Worded, origin: str) -> Echo | ModelOutput | Reply:
        """Parse one completion: the echoed tokens of a scored prompt, or the model's text."""
        text, logprobs = dig(choice, "text"), choice.get("logprobs")
        details = logprobs if isinstance(logprobs, dict) else {}
        if isinstance(ask, Score):
            return Echo(details.get("tokens"), details.get("token_logprobs"), details.get("text_offset"), text)
        if (reason := choice.get("finish_reason")) == "content_filter":  # with a part of the text, or with null
            return ModelOutput(text or "", end_reason="declined")
        if not isinstance(text, str):
            return Misread(f"returned {type(text).__name__}; expected a text").reply(origin)
        likely_tokens: Likelihoods = ()
        if isinstance(ask, Choose):
            text, likely_tokens = first_line(text), likely_first(details)
        return ModelOutput(text, likely_tokens, end_reason="length" if reason == "length" else "")


def likely_first(logprobs: JsonObject) -> Likelihoods:
    """Return the likely tokens at the position of the first token that is not blank; empty if they are missing.

    Engines use two forms: ``{"tokens": […], "top_logprobs": [{token: log-probability}]}``, and ``{"content":
    [{"token": …, "top_logprobs": [{"token": …, "logprob": …}]}]}``.
    """
    tokens, likely_by_position, content = logprobs.get("tokens"), logprobs.get("top_logprobs"), logprobs.get("content")
    if isinstance(content, list):
        return likely_first_tokens(content)
    if not isinstance(tokens, list) or not isinstance(likely_by_position, list):
        return ()
    for token, likely_tokens in zip(tokens, likely_by_position, strict=False):
        if str(token).strip() and isinstance(likely_tokens, dict):
            return valid_pairs(likely_tokens.items())
    return ()


def likely_first_tokens(content: object) -> Likelihoods:
    """Return the likely tokens at the position of the first token that is not blank; empty if they are missing."""
    for token in content if isinstance(content, list) else ():
        if isinstance(token, dict) and str(token.get("token", "")).strip():
            likely_tokens = token.get("top_logprobs")
            candidates = likely_tokens if isinstance(likely_tokens, list) else []
            pairs = ((item.get("token"), item.get("logprob")) for item in candidates if isinstance(item, dict))
            return valid_pairs(pairs)
    return ()


def valid_pairs(token_pairs: Any) -> Likelihoods:
    """Return the pairs of a token and its log-probability that are valid."""
    return [
        (token, number)
        for token, log_probability in token_pairs
        if isinstance(token, str)
        and isinstance(log_probability, int | float)
        and not isinstance(log_probability, bool)
        and (number := float_or_infinity(log_probability)) <= 1  # 0, with room for rounding
    ]
