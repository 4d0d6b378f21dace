"""Adapter for Text Generation Inference (TGI): language models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.document import JsonObject
from assay.model import Ask, Choose, Score, Write
from workers.egress import Response
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.parsing.echoed_tokens import Echo
from workers.targets.protocols.http.adapter import Request, dig, post_json, without_nulls
from workers.targets.protocols.http.choice_letters import Likelihoods, first_line
from workers.targets.protocols.http.language_model import (
    HttpLanguageModel,
    LanguageModelSettings,
    ModelOutput,
    prompt_of,
)
from workers.targets.protocols.http.predictor import json_of
from workers.targets.protocols.openai.completions import valid_pairs


@dataclass(frozen=True, kw_only=True)
class TgiSettings(LanguageModelSettings):
    """Settings of a TGI target; the model is chosen when the service is started."""


class Tgi(HttpLanguageModel[TgiSettings]):
    """Adapter for ``/generate``, with one text per call."""

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

    def _build_request(self, asks: Sequence[Worded]) -> Request:
        (ask,) = asks
        inputs = prompt_of(ask, self.settings.choice_instruction)
        parameters = {"details": True, **without_nulls(self._parameters(ask))}
        return post_json("/generate", {"inputs": inputs, "parameters": parameters})

    def _parameters(self, ask: Worded) -> JsonObject:
        """Return the parameters to score a prompt, to write a text or to choose an option."""
        settings = self.settings
        match ask:
            case Score():
                return {"decoder_input_details": True, "max_new_tokens": 1, "do_sample": False}  # 0 is refused
            case Write():
                return sampling_parameters(settings, ask.number)
            case _:
                tokens, top_tokens = settings.choice_tokens, settings.top_logprobs
                return {"max_new_tokens": tokens, "do_sample": False, "top_n_tokens": top_tokens}

    def _parse_response(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        """Return the prompt's tokens of a scored text, or the model's text."""
        document = json_of(response)
        if isinstance(document, list) and len(document) == 1:  # Hugging Face's endpoints wrap the answer in a list
            document = document[0]
        text = dig(document, "generated_text")
        details = document.get("details")
        if not isinstance(details, dict):
            raise Misread("answered JSON without 'details'; is it this protocol?")
        if isinstance(asks[0], Score):
            return [parse_prefill(details)]
        if isinstance(asks[0], Choose) and isinstance(text, str):
            text = first_line(text)  # without a chat template, a model goes on after its answer
        is_cut = details.get("finish_reason") == "length"
        return [ModelOutput(text, likely_first(details), end_reason="length" if is_cut else "")]


def sampling_parameters(settings: LanguageModelSettings, seed: int | None) -> JsonObject:
    """Return the parameters for writing a text; a temperature of 0, which TGI and Hugging Face refuse, is left out."""
    is_sampling = bool(settings.writing_temperature)
    return {
        "max_new_tokens": settings.writing_tokens,
        "do_sample": is_sampling,
        "temperature": settings.writing_temperature if is_sampling else None,
        "seed": seed,
        "stop": list(settings.writing_stop) or None,
    }


def parse_prefill(details: JsonObject) -> Echo:
    """Return the prompt's tokens with their log-probabilities from the details of a response."""
    prefill = details.get("prefill")
    tokens = [token for token in prefill if isinstance(token, dict)] if isinstance(prefill, list) else []
    return Echo([token.get("text") for token in tokens], [token.get("logprob") for token in tokens], prompt_only=True)


def likely_first(details: JsonObject) -> Likelihoods:
    """Return the likely tokens at the position of the first token that is not blank; empty if they are missing."""
    tokens, likely_by_position = details.get("tokens"), details.get("top_tokens")
    if not isinstance(tokens, list) or not isinstance(likely_by_position, list):
        return ()
    for token, likely_tokens in zip(tokens, likely_by_position, strict=False):
        if isinstance(token, dict) and str(token.get("text", "")).strip() and isinstance(likely_tokens, list):
            logprobs = ((item.get("text"), item.get("logprob")) for item in likely_tokens if isinstance(item, dict))
            return valid_pairs(logprobs)
    return ()
