"""Adapters for Ollama: embedders and language models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import JsonObject
from assay.model import Choose, Kind, Write
from workers.egress import Egress, Response
from workers.targets.adapter import Prediction, Target, Worded
from workers.targets.parsing.answer_parsing import MOST_DIMENSIONS
from workers.targets.protocols.http.adapter import Request, as_list, dig, post_json, without_nulls
from workers.targets.protocols.http.language_model import HttpLanguageModel, LanguageModelSettings, ModelOutput
from workers.targets.protocols.http.predictor import HttpPredictor, json_of, model_of, texts_in
from workers.targets.protocols.openai.chat import messages_of
from workers.targets.protocols.openai.completions import likely_first_tokens
from workers.targets.settings import PredictorSettings


@dataclass(frozen=True, kw_only=True)
class OllamaSettings(PredictorSettings, LanguageModelSettings):
    """Settings of a model that Ollama serves."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Name of the model, with its tag."""
    dimensions: Annotated[int, Ge(1), Le(MOST_DIMENSIONS)] | None = None
    """Embedders: length of the vectors, for models that can shorten them."""
    truncate: bool = False
    """Embedders: whether the service may cut texts that are too long; otherwise it refuses them."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Embedders: most texts in one call; their vectors must fit into the largest response the operator allows."""


class Ollama(HttpPredictor[OllamaSettings]):
    """Adapter for ``/api/embed`` with a list of texts."""

    protocol: ClassVar[str] = "ollama"
    summary: ClassVar[str] = "Ollama: POST /api/embed with a list of texts, or /api/chat for language models"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER, Kind.LANGUAGE_MODEL})
    settings_type: ClassVar[type] = OllamaSettings
    takes_models: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "it has no keys of its own; a secret is sent as a bearer token, for a proxy before it",
        "the first call loads the model and may take a minute: raise the target's timeout_s",
        "by itself it cuts texts that are too long without a word; it is told not to",
        "the older /api/embeddings, with one text a call, is not spoken",
        "language models: it gives no probabilities of a prompt's tokens, so texts cannot be scored; it can choose",
        "language models: releases before November 2025 give no probabilities at all; a choice is then the letter",
    )

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request for the vectors of several texts."""
        body = {
            "model": model_of(asks, self.settings.model),
            "input": texts_in(asks),
            "truncate": self.settings.truncate,
            "dimensions": self.settings.dimensions,
        }
        return post_json("/api/embed", without_nulls(body))

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:  # noqa: ARG002 - callers count
        return as_list(dig(json_of(response), "embeddings"))


class OllamaModel(HttpLanguageModel[OllamaSettings]):
    """Adapter for ``/api/chat``, with one question per call."""

    sends_system: bool = True

    def __init__(self, target: Target, settings: OllamaSettings, egress: Egress) -> None:
        super().__init__(target, settings, egress)
        self.batch_limit = 1

    def _build_request(self, asks: Sequence[Worded]) -> Request:
        """Build the request for a chosen option or a written text."""
        (ask,) = asks
        settings = self.settings
        options: JsonObject = {"temperature": 0.0, "seed": 0, "num_predict": settings.choice_tokens}
        if isinstance(ask, Write):
            options = {
                "temperature": settings.writing_temperature,
                "seed": ask.number,
                "num_predict": settings.writing_tokens,
                "stop": list(settings.writing_stop) or None,
            }
        body: JsonObject = {
            "model": settings.model,
            "messages": messages_of(ask, settings),
            "stream": False,  # Ollama streams by default
            "options": without_nulls(options),
        }
        if isinstance(ask, Choose) and settings.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": settings.top_logprobs}
        return post_json("/api/chat", body)

    def _parse_response(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:  # noqa: ARG002 - one question a call
        """Return the model's text with the likely first tokens."""
        document = json_of(response)
        message = dig(document, "message")
        text = dig(message, "content")
        likely_tokens = likely_first_tokens(document.get("logprobs"))
        end_reason: Literal["", "length"] = "length" if document.get("done_reason") == "length" else ""
        return [ModelOutput(text, likely_tokens, end_reason=end_reason, thinking=bool(message.get("thinking")))]
