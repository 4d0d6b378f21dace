"""Adapter for Text Embeddings Inference (TEI): embedders and classifiers of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le

from assay.document import JsonObject
from assay.model import Kind
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.protocols.http.adapter import Request, as_list, post_json
from workers.targets.protocols.http.predictor import HttpPredictor, json_of, texts_in
from workers.targets.settings import PredictorSettings


@dataclass(frozen=True, kw_only=True)
class TeiSettings(PredictorSettings):
    """Settings of a TEI target."""

    normalize: bool = True
    """Embedders: whether the service scales vectors to length one."""
    truncate: bool = False
    """Whether the service may cut texts that are too long; otherwise it refuses them."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Most texts in one call; the service's own limit is 32 unless it was started with another."""


class Tei(HttpPredictor[TeiSettings]):
    """Adapter for ``/embed`` (embedders) and ``/predict`` (classifiers)."""

    protocol: ClassVar[str] = "tei"
    summary: ClassVar[str] = "Text Embeddings Inference: POST /embed, or /predict for classifiers, with a list of texts"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER, Kind.CLASSIFIER})
    settings_type: ClassVar[type] = TeiSettings
    notes: ClassVar[tuple[str, ...]] = (
        "413 means a text too long or too many texts in one call, 424 a failure of the model, 429 that it is busy",
        "/predict takes a list of two texts for one pair of texts; each text is sent in a list of its own",
    )

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request for vectors or, with each text in a list of its own, for classes."""
        texts, truncate = texts_in(asks), self.settings.truncate
        if self.target.kind is Kind.EMBEDDER:
            body: JsonObject = {"inputs": texts, "normalize": self.settings.normalize, "truncate": truncate}
            return post_json("/embed", body)
        body = {"inputs": [[text] for text in texts], "raw_scores": False, "truncate": truncate}
        return post_json("/predict", body)

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:  # noqa: ARG002 - callers count
        return as_list(json_of(response))
