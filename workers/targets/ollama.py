"""Ollama, as an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.model import Kind
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.http_adapter import Request, dig, listed, post_json
from workers.targets.http_predictor import HttpPredictor, json_of, model_of, texts_in
from workers.targets.readings import MOST_DIMENSIONS
from workers.targets.settings import PredictorSettings


@dataclass(frozen=True, kw_only=True)
class OllamaSettings(PredictorSettings):
    """Settings of a model that Ollama serves."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Which model answers, with its tag."""
    dimensions: Annotated[int, Ge(1), Le(MOST_DIMENSIONS)] | None = None
    """Length of the vectors, for models that can shorten them."""
    truncate: bool = False
    """Whether the service may cut texts that are too long; otherwise it refuses them."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Most texts in one call; their vectors must fit into the largest response the operator allows."""


class Ollama(HttpPredictor[OllamaSettings]):
    """Speaks ``/api/embed`` with a list of texts."""

    protocol: ClassVar[str] = "ollama"
    summary: ClassVar[str] = "Ollama: POST /api/embed with a list of texts"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER})
    settings_type: ClassVar[type] = OllamaSettings
    takes_models: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "it has no keys of its own; a secret is sent as a bearer token, for a proxy before it",
        "the first call loads the model and may take a minute: raise the target's timeout_s",
        "by itself it cuts texts that are too long without a word; it is told not to",
        "the older /api/embeddings, with one text a call, is not spoken",
    )

    def _ask_for(self, asks: Sequence[Prediction]) -> Request:
        body: dict[str, Any] = {
            "model": model_of(asks, self.settings.model),
            "input": texts_in(asks),
            "truncate": self.settings.truncate,
        }
        if self.settings.dimensions is not None:
            body["dimensions"] = self.settings.dimensions
        return post_json("/api/embed", body, self._bearer())

    def _read(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:  # noqa: ARG002 - counted outside
        return listed(dig(json_of(response), "embeddings", place=response.place), place=response.place)
