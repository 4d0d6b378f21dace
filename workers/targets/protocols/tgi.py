"""Text Generation Inference (TGI), which serves language models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.model import Ask, Choose, Score, Write
from workers.egress import CallFailed, Response
from workers.targets.adapter import Worded
from workers.targets.parsing.echoed_tokens import Echo
from workers.targets.protocols.http.adapter import Request, dig, post_json
from workers.targets.protocols.http.choice_letters import Likelihoods, completed_by_letter, first_line
from workers.targets.protocols.http.language_model import HttpLanguageModel, LanguageModelSettings, Said
from workers.targets.protocols.http.predictor import json_of
from workers.targets.protocols.openai.completions import numbered


@dataclass(frozen=True, kw_only=True)
class TgiSettings(LanguageModelSettings):
    """Settings of a TGI target; which model answers was said when the service was started."""


class Tgi(HttpLanguageModel[TgiSettings]):
    """Speaks ``/generate``, one text a call."""

    protocol: ClassVar[str] = "tgi"
    summary: ClassVar[str] = "Text Generation Inference: POST /generate, with the details of the prompt's tokens"
    settings_type: ClassVar[type] = TgiSettings
    answers: ClassVar[tuple[type[Ask], ...]] = (Score, Choose, Write)
    notes: ClassVar[tuple[str, ...]] = (
        "the first token of a prompt has no log-probability",
        "version 3 gives the prompt's tokens back only where it was started with --enable-prefill-logprobs",
        "prompts are continued as they are: no chat template is put around them (use openai-chat for that)",
        "413 and 422 mean a text too long, 424 a failure of the model, 429 that it is busy",
    )

    def _ask_for(self, asks: Sequence[Worded]) -> Request:
        (ask,) = asks
        inputs, parameters = self._wanted(ask)
        told = {name: value for name, value in parameters.items() if value is not None}
        return post_json("/generate", {"inputs": inputs, "parameters": {"details": True, **told}}, self._bearer())

    def _wanted(self, ask: Worded) -> tuple[str, dict[str, Any]]:
        """Give the prompt of a question and the parameters of its call; what is ``None`` is left out."""
        settings = self.settings
        match ask:
            case Score(text=text):
                return text, {"decoder_input_details": True, "max_new_tokens": 1, "do_sample": False}
            case Choose():
                return completed_by_letter(ask, settings.choice_instruction), {
                    "max_new_tokens": settings.choice_tokens,
                    "do_sample": False,
                    "top_n_tokens": settings.top_logprobs,
                }
            case Write(prompt=prompt, number=number):
                warm = bool(settings.writing_temperature)  # it refuses a temperature of 0
                return prompt, {
                    "max_new_tokens": settings.writing_tokens,
                    "do_sample": warm,
                    "temperature": settings.writing_temperature if warm else None,
                    "seed": number,
                    "stop": list(settings.writing_stop) or None,
                }
        raise AssertionError(ask.asks)  # pragma: no cover - refused before

    def _read(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        place, said = response.place, json_of(response)
        if isinstance(said, list) and len(said) == 1:  # as an endpoint of Hugging Face answers
            said = said[0]
        text = dig(said, "generated_text", place=place)
        details = said.get("details")
        if not isinstance(details, dict):
            raise CallFailed("wrong-shape", f"{place} answered JSON without 'details'; is it this protocol?")
        if isinstance(asks[0], Score):
            return [prefilled(details)]
        if isinstance(asks[0], Choose) and isinstance(text, str):
            text = first_line(text)
        return [Said(text, likely_first(details), "length" if details.get("finish_reason") == "length" else "")]


def prefilled(details: dict[str, Any]) -> Echo:
    """Read the tokens of the prompt."""
    prefill = details.get("prefill")
    tokens = [each for each in prefill if isinstance(each, dict)] if isinstance(prefill, list) else []
    return Echo([each.get("text") for each in tokens], [each.get("logprob") for each in tokens], whole=True)


def likely_first(details: dict[str, Any]) -> Likelihoods:
    """Read which tokens could have come in the place of the first one that is no blank."""
    tokens, tops = details.get("tokens"), details.get("top_tokens")
    if not isinstance(tokens, list) or not isinstance(tops, list):
        return ()
    for token, likely in zip(tokens, tops, strict=False):
        if isinstance(token, dict) and str(token.get("text", "")).strip() and isinstance(likely, list):
            return numbered([(each.get("text"), each.get("logprob")) for each in likely if isinstance(each, dict)])
    return ()
