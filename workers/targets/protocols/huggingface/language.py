"""Hugging Face's inference API for language models: masked models and text generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.model import Ask, Choose, Failure, Fill, Reply, Write
from workers.egress import Response
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread, probability, reply_of, seen, unwrapped
from workers.targets.protocols.http.adapter import Request, dig, post_json, refuse_error, without_nulls
from workers.targets.protocols.http.choice_letters import completed_by_letter, first_line
from workers.targets.protocols.http.language_model import HttpLanguageModel, Said
from workers.targets.protocols.http.predictor import json_of
from workers.targets.protocols.huggingface.inference import HfInference, HfInferenceSettings
from workers.targets.protocols.tgi import sampling_parameters


class HfLanguageModel(HttpLanguageModel[HfInferenceSettings]):
    """Adapter for ``/models/{model}`` of the task fill-mask or text-generation, with one question per call."""

    protocol: ClassVar[str] = HfInference.protocol
    summary: ClassVar[str] = HfInference.summary
    settings_type: ClassVar[type] = HfInferenceSettings

    def _refuse(self, ask: Worded) -> Failure | None:
        refused = super()._refuse(ask)
        if refused is None and isinstance(ask, Fill) and self.settings.mask in ask.before + ask.word + ask.after:
            return Failure("unsupported", f"the text holds {self.settings.mask}, which marks the gap")
        return refused

    def _offered(self) -> Sequence[type[Ask]]:
        return (Fill,) if self.settings.task == "fill-mask" else (Choose, Write)

    def _ask_for(self, asks: Sequence[Worded]) -> Request:
        (ask,) = asks
        settings = self.settings
        parameters: dict[str, Any] = {"return_full_text": False}
        match ask:
            case Fill(before=before, after=after):
                inputs, parameters = f"{before}{settings.mask}{after}", {"targets": [self._word(ask)], "top_k": 1}
            case Choose():
                inputs = completed_by_letter(ask, settings.choice_instruction)
                parameters |= {"max_new_tokens": settings.choice_tokens, "do_sample": False}
            case Write(prompt=inputs):
                parameters |= sampling_parameters(settings, None if settings.seed is None else ask.number)
            case _:  # pragma: no cover - refused before
                raise AssertionError(ask.asks)
        path = f"/models/{settings.model}" if settings.model else ""
        return post_json(path, {"inputs": inputs, "parameters": without_nulls(parameters)})

    def _word(self, ask: Fill) -> str:
        # a masked word at the beginning of the text has no space before it
        spaced = self.settings.word_begins_with_space and ask.before[-1:].isspace()
        return f" {ask.word}" if spaced else ask.word

    def _read(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        origin, answer = response.origin, unwrapped(json_of(response))
        refuse_error(answer, response)
        if not isinstance(asks[0], Fill):
            text = dig(answer[0] if isinstance(answer, list) and answer else answer, "generated_text", origin=origin)
            return [Said(first_line(text) if isinstance(asks[0], Choose) and isinstance(text, str) else text)]
        word = asks[0].word
        try:
            return [reply_of(lambda: {"probability": self._probability(answer, word)}, origin)]
        except _NotKnown as unknown:
            return [Reply(failure=Failure("unknown-word", f"the model at {origin} {unknown}"))]

    def _probability(self, answer: Any, word: str) -> float:
        """Return the probability of the word, or raise `_NotKnown` if the answer is about another token."""
        filled = answer[0] if isinstance(answer, list) and answer else answer
        if not isinstance(filled, dict) or not isinstance(filled.get("token_str"), str):
            raise Misread(f"returned {seen(filled)}; expected a token with its score")
        token = filled["token_str"].replace("▁", " ").replace("Ġ", " ").strip()
        same = token.casefold() == word.casefold() if self.settings.uncased else token == word
        if not same:
            raise _NotKnown(f"does not know {word[:60]!r} as one token")
        return probability(filled.get("score"))


class _NotKnown(ValueError):
    """The answer is about a token other than the requested word."""
