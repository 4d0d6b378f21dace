"""Adapter for embeddings behind OpenAI's API."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen, MinLen

from assay.model import Kind
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.parsing.answer_parsing import MOST_DIMENSIONS, Misread
from workers.targets.protocols.http.adapter import Request, dig, dig_each, post_json, sort_by_index, without_nulls
from workers.targets.protocols.http.predictor import HttpPredictor, json_of, model_of, texts_in
from workers.targets.settings import PredictorSettings

BYTES_A_NUMBER = 4
"""Bytes of each number of a vector in base64: single precision, little-endian."""


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbeddingsSettings(PredictorSettings):
    """Settings of an embedding model behind OpenAI's interface."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Which model answers."""
    encoding_format: Literal["float", "base64"] | None = None
    """Requested format of vectors; base64 is a third as long. Null leaves it out. Answers in both formats are read."""
    dimensions: Annotated[int, Ge(1), Le(MOST_DIMENSIONS)] | None = None
    """Length of the vectors, for models that can shorten them."""
    batch_maximum: Annotated[int, Ge(1), Le(2048)] = 24
    """Most texts in one call; their vectors must fit into the largest response the operator allows."""


class OpenAIEmbeddings(HttpPredictor[OpenAIEmbeddingsSettings]):
    """Adapter for ``/v1/embeddings`` with a list of texts."""

    protocol: ClassVar[str] = "openai-embeddings"
    summary: ClassVar[str] = "Embeddings (OpenAI's interface): POST /v1/embeddings with a list of texts"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER})
    settings_type: ClassVar[type] = OpenAIEmbeddingsSettings
    takes_models: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "vectors are sorted by their index; services need not answer in order",
        "a vector of 1,536 numbers takes about 30 kB, or 8 kB with encoding_format base64",
        "the same text may get slightly different vectors",
        "a 429 that says insufficient_quota ends the job; other 429s are waited for",
    )

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request for the vectors of several texts."""
        body = {
            "model": model_of(asks, self.settings.model),
            "input": texts_in(asks),
            "encoding_format": self.settings.encoding_format,
            "dimensions": self.settings.dimensions,
        }
        return post_json("/v1/embeddings", without_nulls(body))

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:
        sorted_entries = sort_by_index(dig(json_of(response), "data"), len(asks), answers="vectors", questions="texts")
        unknown_word = Misread("gave null instead of a vector", "missing-word").reply(response.origin)
        embeddings = dig_each(sorted_entries, "embedding")
        return [unknown_word if embedding is None else decode_vector(embedding) for embedding in embeddings]


def decode_vector(embedding: object) -> Any:
    """Decode a vector in base64; raise `Misread` for any other text, and return a value that is no text unchanged."""
    if not isinstance(embedding, str):
        return embedding
    try:
        vector_bytes = base64.b64decode(embedding, validate=True)
    except (binascii.Error, ValueError):
        vector_bytes = b""
    if not vector_bytes or len(vector_bytes) % BYTES_A_NUMBER:
        raise Misread("returned a text that is not a vector in base64")
    return np.frombuffer(vector_bytes, "<f4").astype(float).tolist()
